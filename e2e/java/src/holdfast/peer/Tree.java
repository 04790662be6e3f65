package holdfast.peer;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;

/**
 * The nodes at the server, read with ZooKeeper's own client and not with Curator or ours. Six words for each node,
 * parents before children: path, ephemeral owner in hex (0 for none), czxid, version, ACL, data in hex.
 */
final class Tree {
    private Tree() {}

    static List<String> dump(ZooKeeper zooKeeper, String root) throws Exception {
        List<String> words = new ArrayList<>();
        add(zooKeeper, root, words);
        return words;
    }

    private static void add(ZooKeeper zooKeeper, String path, List<String> words) throws Exception {
        Stat stat = new Stat();
        byte[] data = zooKeeper.getData(path, false, stat);
        words.add(path);
        words.add(Long.toHexString(stat.getEphemeralOwner()));
        words.add(String.valueOf(stat.getCzxid()));
        words.add(String.valueOf(stat.getVersion()));
        words.add(zooKeeper.getACL(path, null).stream().map(Tree::text).sorted().collect(Collectors.joining(",")));
        words.add(data == null ? "" : HexFormat.of().formatHex(data));
        List<String> children = new ArrayList<>(zooKeeper.getChildren(path, false));
        Collections.sort(children);
        for (String child : children) {
            add(zooKeeper, path.equals("/") ? "/" + child : path + "/" + child, words);
        }
    }

    private static String text(ACL acl) {
        return acl.getPerms() + ":" + acl.getId().getScheme() + ":" + acl.getId().getId();
    }
}
