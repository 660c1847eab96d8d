import t from 'tap'
import { Float, Tagged } from '#interpreter'
import { losslessText, losslessValue } from '#wire'
import { skippingDurable } from '#workflows'
import { drivenDurable, durableProgram } from '../durable-program.ts'
import { LIMITS, run } from '../run-program.ts'

const COUNTER = `
fn half(n: int) to Result[int] { if n > 50 { Error("no") } else { Ok(n) } }
actor Counter(start: int, step: int = 1) {
    state count: int = start
    state names: List[str]

    on increment(by: int) to int {
        count += by * step
        count
    }

    on name(text: str) to int {
        names = names.append(text)
        len(names)
    }

    on fails(by: int) {
        count += by
        panic("no")
    }

    on refuses(by: int) to Result[int] {
        count += by
        if by > 10 { return Error("too much") }
        Ok(count)
    }

    on forEach(xs: List[int]) to int {
        xs.map(fn(x) { count += x })
        count
    }

    on early(by: int) to Result[int] {
        count += by
        let value = half(by)?
        return Ok(count + value - by)
    }
}
`

t.test('handlers accept named arguments, and use defaults for omitted ones', t => {
  const adder = `
actor Adder {
    state sum: int = 0

    on add(x: int = 10, y: int = 20) to int {
        sum += x * 2 + y
        sum
    }
}`
  const { lines } = run(`${adder}
fn main() {
    let a = spawn(Adder)
    print(a.add(1, 2), a.add(y = 3, x = 4), a.add(y = 4), a.add())
    a ! add(y = 1, x = 0)
    print(a.add(0, 0))
}
`)
  t.same(lines, ['4 15 39 79', '80'])
  const { error } = run(`${adder}\nfn main() { let a: any = spawn(Adder)\n a.add(z = 1) }`)
  t.match(error, { code: 'RUN_ARGUMENTS', message: /Adder.add has no parameter z/ })
  const twice = run(`${adder}\nfn main() { let a: any = spawn(Adder)\n a.add(1, x = 1) }`)
  t.match(twice.error, { code: 'RUN_ARGUMENTS', message: /Adder.add receives x twice/ })
  t.end()
})

t.test('the default of a parameter of a handler reads the state of the call', async t => {
  const { lines } = run(`
actor Log(limit: int) {
    state next: int = 1
    state lines: List[int] = []
    on add(n: int = next, most: int = limit) to int {
        next = n + 1
        lines = lines.push(n)
        most
    }
    on all() to List[int] { lines }
    on keep(change: fn() to Unit = fn() { lines = lines.push(0) }) to List[int] {
        lines[0] = 7
        let before = lines
        change()
        before
    }
}
fn main() {
    let log = spawn(Log(9))
    print(log.add(), log.add(), log.add(5), log.add(most = 3), log.all(), log.keep(), log.all())
}
`)
  t.same(lines, ['9 9 9 3 [1, 2, 5, 6] [7, 2, 5, 6] [7, 2, 5, 6, 0]'])
})

t.test('each instance has its own state, which its handlers read and change', async t => {
  const { lines } = run(`${COUNTER}
fn main() {
    let a = spawn(Counter(10))
    let b = spawn Counter(100, step = 2)
    print(a.increment(1), a.increment(2), b.increment(5), a.increment(0))
    print(a.name("x"), a.name("y"), b.name("z"))
    print(a.forEach([1, 2, 3]), a.early(1), a.increment(0))
    print(type_of(a))
}
`)
  t.same(lines, ['11 13 110 13', '1 2 1', '19 Ok(20) 20', 'Counter'])
})

t.test('a handler that fails or returns an Error does not change the state', async t => {
  const durable = skippingDurable()
  const { lines, call } = durableProgram(
    `${COUNTER}
let counter = spawn(Counter(0))
fn broken() { counter.fails(5) }
fn refused() { print(counter.refuses(50), counter.refuses(5), counter.increment(0)) }
fn main() { print(counter.increment(1)) }
`,
    durable
  )
  call('main')
  t.throws(() => call('broken'), { code: 'RUN_PANIC' })
  call('refused')
  t.same(lines, ['1', 'Error(too much) Ok(6) 6'], 'a constant spawns one instance')
})

t.test('the next run of the program finds the state', async t => {
  const durable = skippingDurable()
  const text = `${COUNTER}\nlet counter = spawn(Counter(0))\nfn main() { print(counter.increment(1)) }\n`
  for (const expected of ['1', '2', '3']) {
    const { lines, call } = durableProgram(text, durable)
    call('main')
    t.same(lines, [expected])
  }
})

t.test('messages are handled in order, before later calls and before the program ends', async t => {
  const { lines } = run(`
actor Log {
    state lines: List[str]
    on note(text: str) {
        lines = lines.append(text)
        print(text)
    }
    on all() to str { lines.join(" ") }
}
fn main() {
    let log = spawn(Log)
    log.send("note", "a")
    log.send("note", "b")
    print("sent")
    print(log.all())
    log.send("note", "c")
    print("end")
}
`)
  t.same(lines, ['sent', 'a', 'b', 'a b', 'end', 'c'])
})

t.test('a failing message is tried five times, and later messages wait until then', async t => {
  const { lines, call } = durableProgram(
    `
actor A {
    state tries: int
    on bad() {
        tries += 1
        panic("again")
    }
    on good() { print("good", tries) }
}
fn main() {
    let a = spawn(A)
    a.send("bad")
    a.send("good")
}
`,
    skippingDurable()
  )
  call('main')
  t.equal(lines.filter(line => line.startsWith('warn: A.bad failed')).length, 5)
  t.match(lines[4], /is dropped/)
  t.equal(lines[5], 'good 0')
})

t.test('a message from a handler is part of its transaction', async t => {
  const { lines } = run(`
actor Sink { on take(n: int) { print("took", n) } }
actor Source {
    on emit(sink: any, n: int) to Result[int] {
        sink.send("take", n)
        if n > 1 { return Error("no") }
        Ok(n)
    }
}
fn main() {
    let sink = spawn(Sink)
    let source = spawn(Source)
    print(source.emit(sink, 1), source.emit(sink, 2))
}
`)
  t.same(lines, ['Ok(1) Error(no)', 'took 1'])
})

t.test('actors call each other, and a deadlock is an error', async t => {
  const text = `
actor Ping { on hit(other: any, n: int) to int { if n > 0 { other.hit(n - 1) } else { 0 } } }
actor Pong { on hit(n: int) to int { n * 10 } }
actor Loop { on turn(other: any) to int { other.turn(other) } }
fn main() { print(spawn(Ping).hit(spawn(Pong), 3)) }
fn circle() {
    let loop_actor = spawn(Loop)
    loop_actor.turn(loop_actor)
}
`
  const { lines, call } = durableProgram(text, skippingDurable())
  call('main')
  t.same(lines, ['20'])
  t.throws(() => call('circle'), { code: 'RUN_ACTOR_BUSY' })
})

t.test('state_save and state_load store values for an instance and for the program', async t => {
  const { lines } = run(`
actor A {
    on put(n: int) to Unit { state_save("n", n) }
    on take() to any { state_load("n") }
}
fn main() {
    let a = spawn(A)
    let b = spawn(A)
    print(a.take())
    a.put(7)
    print(a.take(), b.take(), state_load("n"))
    state_save("n", [1, 2])
    print(state_load("n"), a.take())
}
`)
  t.same(lines, ['None', 'Some(7) None None', 'Some([1, 2]) Some(7)'])
})

t.test('a scheduler handles messages if the program has one', async t => {
  const durable = drivenDurable()
  const { lines, call, interpreter } = durableProgram(
    `${COUNTER}\nlet counter = spawn(Counter(0))\nfn main() { counter.send("increment", 2) }\nfn count() { print(counter.increment(0)) }\n`,
    durable
  )
  call('main')
  t.equal(durable.notified(), 1)
  const [address] = durable.actors.waiting(durable.now())
  t.match(address, { actor: 'Counter', id: 'counter-0' })
  if (address !== undefined) {
    t.ok(interpreter.deliver(address, LIMITS))
    t.notOk(interpreter.deliver(address, LIMITS))
  }
  call('count')
  t.same(lines, ['2'])
})

t.test('an agent migrates the state of its older version', async t => {
  const durable = skippingDurable()
  const agent = (version: string, fields: string, rest: string): string => `
agent Helper {
    version "${version}"
    instructions: "Be of help."
    ${fields}
    on say(text: str) to str {
        count += 1
        text + " " + str(count) + " " + str(items)
    }
    ${rest}
}
let helper = spawn(Helper)
fn main() { print(helper.say("hello")) }
`
  const first = durableProgram(
    agent('1', 'count: int\n    items: List[str] = ["a"]\n    old: str = "kept"', ''),
    durable
  )
  first.call('main')
  first.call('main')
  t.same(first.lines, ['hello 1 [a]', 'hello 2 [a]'])
  const migrating = `migrate from "1" {
        count = count * 100
        items = items.append(state_load("old").unwrap())
    }`
  const second = durableProgram(agent('2', 'count: int\n    items: List[str]\n    more: str', migrating), durable)
  second.call('main')
  second.call('main')
  t.same(second.lines, ['hello 201 [a, kept]', 'hello 202 [a, kept]'], 'the migration runs once')
})

t.test('a handle can be stored and read again', async t => {
  const { lines } = run(`${COUNTER}
actor Keeper {
    state kept: List[any]
    on keep(other: any) { kept = kept.append(other) }
    on ask(by: int) to int { kept[0].increment(by) }
}
fn main() {
    let keeper = spawn(Keeper)
    let counter = spawn(Counter(5))
    keeper.keep(counter)
    print(keeper.ask(2), counter.increment(0), counter is counter)
}
`)
  t.same(lines, ['7 7 true'])
})

t.test('a workflow calls actors only in activities', async t => {
  const text = (call: string): string => `${COUNTER}
let counter = spawn(Counter(0))
activity add(by: int) to Result[int] { Ok(counter.increment(by)) }
workflow w() to any { ${call} }
fn main() { print(w()) }
`
  t.same(run(text('add(3)')).lines, ['Ok(3)'])
  t.equal(run(text('counter.increment(3)')).code, 'RUN_WORKFLOW_UNREPEATABLE')
})

t.test('stored values are read unchanged', async t => {
  const handle = () => null
  for (const value of [
    new Float(1),
    new Float(Number.NaN),
    new Float(-0),
    2n ** 60n,
    new Tagged('None', []),
    new Map()
  ]) {
    const text = losslessText(value)
    t.equal(losslessText(losslessValue(text, handle)), text)
  }
  t.same([...(losslessValue('{"b":1,"a":2}', handle) as Map<string, unknown>).keys()], ['b', 'a'])
})

t.test('`send event(…)` and `! event(…)` send messages', async t => {
  const { lines } = run(`
actor Log {
    state lines: List[str]
    on note(text: str) { lines = lines.append(text) }
    on all() to str { lines.join(" ") }
}
fn yes() to bool { false }
fn main() {
    let log = spawn(Log)
    log.send note("a")
    log ! note("b")
    log.send("note", "c")
    if !yes() { print(log.all()) }
}
`)
  t.same(lines, ['a b c'])
})
