package bench;

/** One session or connection. */
interface Client {
    Lock lock(String name);

    void close() throws Exception;

    /** One lock as one owner sees it. One thread acquires and releases it by turns. */
    interface Lock {
        void acquire() throws Exception;

        void release() throws Exception;
    }

    /** Opens clients; {@code server} is host:port. */
    interface Connector {
        Client connect(String server) throws Exception;
    }
}
