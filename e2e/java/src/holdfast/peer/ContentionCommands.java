package holdfast.peer;

/** Loops that take and give back locks on their own. Tests judge them by what they leave in files. */
final class ContentionCommands {
    private ContentionCommands() {}

    static void addTo(Commands commands) {
        // contend <client> <recipe> <path> <counterFile> <logFile> <grants> <label>
        commands.add("contend", a -> Contender.run(
                a.get(1), commands.client(a.get(0)), a.get(2), a.get(3), a.get(4), Integer.parseInt(a.get(5)),
                a.get(6)));
        // contendSemaphore <client> <path> <maxLeases> <folder> <grants> <mostAtOnce> <label> -> most leases seen held
        commands.add("contendSemaphore", a -> SharingContender.semaphore(
                commands.client(a.get(0)), a.get(1), Integer.parseInt(a.get(2)), a.get(3), Integer.parseInt(a.get(4)),
                Integer.parseInt(a.get(5)), a.get(6)));
        // contendReadWrite <client> <path> <counterFile> <folder> <turns> <writeEvery> <downgrade> <label>
        //   -> how often it wrote, most readers seen
        commands.add("contendReadWrite", a -> SharingContender.readWrite(
                commands.client(a.get(0)), a.get(1), a.get(2), a.get(3), Integer.parseInt(a.get(4)),
                Integer.parseInt(a.get(5)), Boolean.parseBoolean(a.get(6)), a.get(7)));
    }
}
