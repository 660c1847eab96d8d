import { type Artifact, type Message, Role, TaskState } from '@a2a-js/sdk'
import fc from 'fast-check'
import t from 'tap'
import {
  decodeEvent,
  encodeEvent,
  hasEnded,
  type KeyedEvent,
  type LoggedEvent,
  snapshotOf,
  streamed,
  type TaskEvent,
  taskIdOf,
  taskOf
} from '#root'

const message: fc.Arbitrary<Message> = fc
  .record({ messageId: fc.string({ minLength: 1 }), text: fc.string({ unit: 'binary' }) })
  .map(({ messageId, text }) => ({
    messageId,
    contextId: 'c',
    taskId: 't',
    role: Role.ROLE_USER,
    parts: [
      { content: { $case: 'text' as const, value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: []
  }))
const facts = fc.dictionary(fc.constantFrom('task_id', 'campaign_id'), fc.oneof(fc.nat(), fc.string()))
const state = fc.constantFrom(
  TaskState.TASK_STATE_WORKING,
  TaskState.TASK_STATE_INPUT_REQUIRED,
  TaskState.TASK_STATE_COMPLETED,
  TaskState.TASK_STATE_FAILED,
  TaskState.TASK_STATE_CANCELED,
  TaskState.TASK_STATE_REJECTED
)
const artifact: fc.Arbitrary<Artifact> = fc.record({
  artifactId: fc.constantFrom('a', 'b'),
  name: fc.string(),
  description: fc.constant(''),
  parts: fc.constant([]),
  metadata: fc.constant(undefined),
  extensions: fc.constant([])
})
const config = fc.record({
  id: fc.constantFrom('x', 'y'),
  url: fc.webUrl(),
  token: fc.string(),
  authentication: fc.constant(null),
  version: fc.constantFrom('1.0' as const, '0.3' as const)
})
const created = message.map(
  (message): TaskEvent => ({
    type: 'created',
    owner: 'o',
    principal: { id: 'o', role: 'owner', scopes: ['*'] },
    context: 'c',
    message,
    text: 'x',
    hints: {}
  })
)
const later: fc.Arbitrary<TaskEvent> = fc.oneof(
  fc.record({ type: fc.constant('reply' as const), message, text: fc.string() }),
  fc.record({ type: fc.constant('status' as const), state, message: fc.option(message), facts }),
  fc.record({ type: fc.constant('artifact' as const), artifact }),
  fc.record({ type: fc.constant('delegated' as const), task: fc.nat(), attempts: fc.nat() }),
  fc.record({ type: fc.constant('push' as const), config }),
  fc.record({ type: fc.constant('push_removed' as const), id: fc.constantFrom('x', 'y') })
)
/** A log as a store could have it: numbers and times grow, with gaps. */
const log = fc
  .tuple(created, fc.array(fc.tuple(later, fc.integer({ min: 1, max: 9 })), { maxLength: 30 }))
  .map(([first, others]) => {
    let number = 1
    const events: LoggedEvent[] = [{ key: 'created', number, at: 1_000, event: first }]
    for (const [event, gap] of others) {
      number += gap
      events.push({ key: `k${number}`, number, at: 1_000 + number, event })
    }
    return events
  })

t.test('an event is the same after it was stored', async () => {
  fc.assert(
    fc.property(fc.oneof(created, later), fc.string({ minLength: 1 }), (event, key) => {
      const back = decodeEvent(encodeEvent({ key, event }))
      // JSON has no undefined.
      return encodeEvent(back) === encodeEvent({ key, event } satisfies KeyedEvent)
    })
  )
})

t.test('a task that has ended never changes, except for its webhooks', async t => {
  fc.assert(
    fc.property(log, events => {
      const whole = snapshotOf('t', events)
      for (let end = 1; end <= events.length; end += 1) {
        const before = snapshotOf('t', events.slice(0, end))
        if (before === null || !hasEnded(before.state)) continue
        t.strictSame(taskOf(before), taskOf(whole as NonNullable<typeof whole>))
        t.strictSame(before.facts, whole?.facts)
        return
      }
    })
  )
})

t.test('the state as of an event is that of the log up to it', async t => {
  fc.assert(
    fc.property(log, fc.nat({ max: 300 }), (events, until) => {
      const prefix = events.filter(({ number }, at) => at === 0 || number <= until)
      t.strictSame(snapshotOf('t', events, until), snapshotOf('t', prefix))
    })
  )
})

t.test('the events of a stream lead from its first task to the last one', async t => {
  fc.assert(
    fc.property(log, fc.nat({ max: 30 }), (events, from) => {
      const begin = snapshotOf('t', events, events[Math.min(from, events.length - 1)]?.number)
      const end = snapshotOf('t', events)
      if (begin === null || end === null) throw new Error('the log has its first event')
      let current = taskOf(begin).status?.state
      for (const logged of end.events.filter(({ number }) => number > begin.last)) {
        const sent = streamed(end, logged)
        if (sent?.payload?.$case === 'statusUpdate') current = sent.payload.value.status?.state
      }
      t.equal(current, end.state)
    })
  )
})

t.test('a log without its first event is no task', async t => {
  t.equal(snapshotOf('t', []), null)
  fc.assert(fc.property(log, events => snapshotOf('t', events.slice(1)) === null))
})

t.test('a stored event that cannot be read is an error, not a crash', async t => {
  for (const text of ['', '{', 'null', '{"key":"x","type":"later"}', '{"key":"x"}'])
    t.throws(() => decodeEvent(text), { code: 'A2S_LOG_INVALID' }, text)
})

t.test('the id of a task is a UUID that only its scope, sender and message determine', async t => {
  const id = taskIdOf('scope', 'owner', 'message')
  t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.equal(taskIdOf('scope', 'owner', 'message'), id)
  const others = [
    taskIdOf('scope2', 'owner', 'message'),
    taskIdOf('scope', 'other', 'message'),
    taskIdOf('scope', 'owner', 'm')
  ]
  t.equal(new Set([id, ...others]).size, 4)
})
