// A worker of the chaos runner in Go: SET NX PX at one Redis, deleted by its owner alone. Needs nothing but Go:
// go build -o redis_worker redis_worker.go
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

type object = map[string]any

type key struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	LeaseMs int64  `json:"leaseMs"`
}

type setup struct {
	P         string `json:"p"`
	ClockBase string `json:"clockBase"`
	Seed      int64  `json:"seed"`
	Group     struct {
		HoldMs  [2]float64  `json:"holdMs"`
		PauseMs *[2]float64 `json:"pauseMs"`
		WaitMs  *int64      `json:"waitMs"`
		Writes  string      `json:"writes"`
	} `json:"group"`
	Keys    []key `json:"keys"`
	Servers struct {
		Address struct {
			Host string `json:"host"`
			Port int    `json:"port"`
		} `json:"address"`
	} `json:"servers"`
	Resource *string `json:"resource"`
}

const deleteOwn = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

var output sync.Mutex

func say(word object) {
	output.Lock()
	defer output.Unlock()
	line, _ := json.Marshal(word)
	os.Stdout.Write(append(line, '\n'))
}

// monotonic is CLOCK_MONOTONIC in nanoseconds; time.Now does not show it.
func monotonic() int64 {
	var at syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

// redis is one connection, made again when it broke.
type redis struct {
	address string
	socket  net.Conn
	answers *bufio.Reader
}

// command answers nil for a null. An error of the connection or of the server, or no answer within two seconds, is an error.
func (r *redis) command(words ...string) (any, error) {
	answer, err := r.ask(words)
	if err != nil && r.socket != nil {
		r.socket.Close()
		r.socket = nil
	}
	return answer, err
}

func (r *redis) ask(words []string) (any, error) {
	if r.socket == nil {
		socket, err := net.DialTimeout("tcp", r.address, 2*time.Second)
		if err != nil {
			return nil, err
		}
		r.socket, r.answers = socket, bufio.NewReader(socket)
	}
	r.socket.SetDeadline(time.Now().Add(2 * time.Second))
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(r.socket, request.String()); err != nil {
		return nil, err
	}
	line, err := r.answers.ReadString('\n')
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(line[1:])
	switch line[0] {
	case '-':
		return nil, errors.New(text)
	case '$':
		if text == "-1" {
			return nil, nil
		}
		size, _ := strconv.Atoi(text)
		bytes := make([]byte, size+2)
		_, err := io.ReadFull(r.answers, bytes)
		return string(bytes), err
	}
	return text, nil
}

type worker struct {
	setup
	base     int64
	random   *rand.Rand
	redis    redis
	resource net.Conn
	answers  *bufio.Reader
	op       int
	stopping chan struct{}
	aborted  chan struct{}
}

func open(s setup) (*worker, error) {
	seed := fnv.New64()
	fmt.Fprintf(seed, "%d %s", s.Seed, s.P)
	base, err := strconv.ParseInt(s.ClockBase, 10, 64)
	if err != nil {
		return nil, err
	}
	address := s.Servers.Address
	w := &worker{
		setup: s, base: base, random: rand.New(rand.NewSource(int64(seed.Sum64()))),
		redis:    redis{address: net.JoinHostPort(address.Host, strconv.Itoa(address.Port))},
		stopping: make(chan struct{}), aborted: make(chan struct{}),
	}
	if _, err := w.redis.command("PING"); err != nil {
		return nil, err
	}
	if s.Group.Writes != "" && s.Resource != nil {
		if w.resource, err = net.Dial("tcp", *s.Resource); err != nil {
			return nil, err
		}
		w.answers = bufio.NewReader(w.resource)
	}
	return w, nil
}

func (w *worker) record(kind, f string, k key, op int, more object) {
	word := object{"t": monotonic() - w.base, "type": kind, "p": w.P, "f": f, "key": k.ID, "op": op}
	for name, value := range more {
		word[name] = value
	}
	say(word)
}

func (w *worker) invoke(f string, k key, more object) int {
	w.op++
	w.record("invoke", f, k, w.op, more)
	return w.op
}

func (w *worker) between(least, most float64) time.Duration {
	return time.Duration((least + w.random.Float64()*(most-least)) * float64(time.Millisecond))
}

func (w *worker) run() {
	for {
		rest := [2]float64{50, 150}
		if w.turn(w.Keys[w.random.Intn(len(w.Keys))]) {
			rest = [2]float64{0, 5}
			if w.Group.PauseMs != nil {
				rest = *w.Group.PauseMs
			}
		}
		select {
		case <-w.stopping:
			say(object{"say": "done"})
			os.Exit(0)
		case <-time.After(w.between(rest[0], rest[1])):
		}
	}
}

func (w *worker) turn(k key) bool {
	arg := object{}
	if w.Group.WaitMs != nil {
		arg["waitMs"] = *w.Group.WaitMs
	}
	op := w.invoke("acquire", k, object{"arg": arg})
	hold := fmt.Sprintf("%s:%d", w.P, op)
	asked := monotonic()
	var until int64
	for {
		until = monotonic() - w.base + k.LeaseMs*1e6
		answer, err := w.redis.command("SET", k.Name, hold, "NX", "PX", strconv.FormatInt(k.LeaseMs, 10))
		if err != nil {
			w.record("info", "acquire", k, op, object{"error": err.Error()})
			return false
		}
		if answer != nil {
			break
		}
		over := w.Group.WaitMs != nil && (monotonic()-asked)/1e6 > *w.Group.WaitMs
		select {
		case <-w.aborted:
			over = true
		case <-time.After(10 * time.Millisecond):
		}
		if over {
			w.record("fail", "acquire", k, op, nil)
			return false
		}
	}
	w.record("ok", "acquire", k, op, object{"ret": object{"hold": hold, "validUntil": until}})
	w.work(k, hold)
	op = w.invoke("release", k, object{"hold": hold})
	switch answer, err := w.redis.command("EVAL", deleteOwn, "1", k.Name, hold); {
	case err != nil:
		w.record("info", "release", k, op, object{"error": err.Error()})
	case answer == "1":
		w.record("ok", "release", k, op, nil)
	default:
		w.record("fail", "release", k, op, object{"error": "not ours any more"})
	}
	return true
}

func (w *worker) work(k key, hold string) {
	accepted, value := false, 0.0
	if w.resource != nil {
		accepted, value = w.ask(object{"id": 1, "do": "read", "key": k.ID, "hold": hold})
	}
	time.Sleep(w.between(w.Group.HoldMs[0], w.Group.HoldMs[1]))
	if !accepted {
		return
	}
	op := w.invoke("write", k, object{"hold": hold})
	end := "fail"
	if accepted, _ = w.ask(object{"id": 2, "do": "write", "key": k.ID, "hold": hold, "read": value}); accepted {
		end = "ok"
	}
	w.record(end, "write", k, op, nil)
}

func (w *worker) ask(request object) (bool, float64) {
	request["fenced"] = w.Group.Writes == "fenced"
	line, _ := json.Marshal(request)
	w.resource.Write(append(line, '\n'))
	var answer struct {
		Accepted bool    `json:"accepted"`
		Value    float64 `json:"value"`
	}
	text, err := w.answers.ReadBytes('\n')
	if err != nil || json.Unmarshal(text, &answer) != nil {
		os.Exit(1)
	}
	return answer.Accepted, answer.Value
}

func main() {
	var w *worker
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			os.Exit(1)
		}
		var word struct {
			Do    string `json:"do"`
			Setup setup  `json:"setup"`
		}
		if err := json.Unmarshal(line, &word); err != nil {
			say(object{"say": "failed", "error": err.Error()})
			os.Exit(1)
		}
		switch word.Do {
		case "about":
			say(object{"say": "about", "provides": object{
				"kinds": []string{"mutex"}, "servers": []string{"redis"}, "promises": true,
			}})
		case "setup":
			if w, err = open(word.Setup); err != nil {
				say(object{"say": "failed", "error": err.Error()})
				os.Exit(1)
			}
			say(object{"say": "ready"})
		case "start":
			go w.run()
		case "stop":
			close(w.stopping)
		case "abort":
			close(w.aborted)
		}
	}
}
