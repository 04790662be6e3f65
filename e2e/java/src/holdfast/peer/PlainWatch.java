package holdfast.peer;

import java.util.function.Consumer;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;

/** A watch of ZooKeeper's own client. It ignores changes of the connection, to which Curator's recipes react. */
final class PlainWatch {
    private PlainWatch() {}

    /** {@code kind} is "data", "exists" or "children", once each, or "tree" for all changes at and below the path. */
    static void set(ZooKeeper zooKeeper, String kind, String path, Consumer<WatchedEvent> onEvent) throws Exception {
        Watcher watcher = event -> {
            if (event.getType() != Watcher.Event.EventType.None) {
                onEvent.accept(event);
            }
        };
        switch (kind) {
            case "data" -> zooKeeper.getData(path, watcher, null);
            case "exists" -> zooKeeper.exists(path, watcher);
            case "tree" -> zooKeeper.addWatch(path, watcher, AddWatchMode.PERSISTENT_RECURSIVE);
            case "children" -> zooKeeper.getChildren(path, watcher);
            default -> throw new IllegalArgumentException("no such watch: " + kind);
        }
    }
}
