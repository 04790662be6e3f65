package holdfast.peer;

/**
 * Loops that take and give back by themselves. A test judges them by the files that they leave. Each runs on one
 * thread.
 */
final class RedissonContention {
    private RedissonContention() {}

    static void addTo(RedissonCommands commands) {
        // contend <client> <kind> <name> <counterFile> <logFile> <grants> <forMs> <holdMs> <leaseMs> <label>
        //   -> grants, longest wait in ms
        commands.add("contend", a -> new RedissonContender(
                        RedissonTurns.of(a.get(1), commands.client(a.get(0)), a.get(2), Words.number(a, 8)),
                        a.get(3), a.get(4), Words.number(a, 7), a.get(9))
                .run(Integer.parseInt(a.get(5)), Words.number(a, 6)));
        // contendSemaphore <client> <semaphore | permitSemaphore> <name> <limit> <folder> <grants> <mostAtOnce> <label>
        //   -> most permits seen taken
        commands.add("contendSemaphore", a -> RedissonSharingContender.semaphore(
                RedissonPermits.of(a.get(1), commands.client(a.get(0)), a.get(2)), Integer.parseInt(a.get(3)),
                a.get(4), Integer.parseInt(a.get(5)), Integer.parseInt(a.get(6)), a.get(7)));
        // contendReadWrite <client> <name> <counterFile> <folder> <turns> <writeEvery> <downgrade> <label>
        //   -> how often it wrote, most readers seen
        commands.add("contendReadWrite", a -> RedissonSharingContender.readWrite(
                commands.client(a.get(0)).getReadWriteLock(a.get(1)), a.get(2), a.get(3), Integer.parseInt(a.get(4)),
                Integer.parseInt(a.get(5)), Boolean.parseBoolean(a.get(6)), a.get(7)));
    }
}
