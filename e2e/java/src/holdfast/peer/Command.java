package holdfast.peer;

import java.util.List;

/** What a line asks for. It runs on a thread of its own and may take its time. */
interface Command {
    List<String> run(List<String> arguments) throws Exception;
}
