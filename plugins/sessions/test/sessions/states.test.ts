import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import {
  eventOf,
  type SessionEvent,
  SessionFold,
  type SessionStateName,
  sessionFileName,
  sessionIds,
  TRANSITIONS
} from '#sessions'
import { freshFolder, openSessions } from './open-sessions.ts'

const turn = (id: string, tokens = 1) =>
  ({
    event: 'turn_added',
    turn: { id, role: 'user', content: id, timestamp: 1, context_files: [], tokens }
  }) as const

const states = Object.keys(TRANSITIONS) as SessionStateName[]

const anyEvents = fc
  .array(
    fc.tuple(
      fc.integer({ min: 1, max: 20 }),
      fc.oneof(
        fc.nat().map(tokens => turn(`t${tokens}`, tokens)),
        fc.constantFrom(...states).map(state => ({ event: 'state_changed', state, reason: 'time' }) as const),
        fc.constant({ event: 'reset', turns: 0 } as const),
        fc.constant({ event: 'compacted', turns: 0 } as const),
        fc.string().map(value => ({ event: 'meta_updated', meta: { key: value } }) as const)
      )
    ),
    { maxLength: 20 }
  )
  .map(list => list.map(([at, event], index) => ({ id: `e${index}`, at, ...event }) as SessionEvent))

t.test('the order in which events are read does not change a session', t => {
  fc.assert(
    fc.property(
      anyEvents.chain(events =>
        fc.tuple(fc.constant(events), fc.shuffledSubarray(events, { minLength: events.length }))
      ),
      ([events, shuffled]) => {
        const [a, b] = [new SessionFold('s', 'r', events), new SessionFold('s', 'r', shuffled)]
        t.same(b.view, a.view)
        t.same(b.turns, a.turns)
        t.same(a.copy().view, a.view)
      }
    )
  )
  t.end()
})

t.test('no event causes a transition outside the table', t => {
  fc.assert(
    fc.property(anyEvents, events => {
      const fold = new SessionFold('s', 'r')
      for (const event of events) {
        const before = fold.view.state
        fold.apply(event)
        const after = fold.view.state
        t.ok(after === before || TRANSITIONS[before].includes(after), `${before} to ${after} by ${event.event}`)
        t.equal(
          fold.view.tokens,
          fold.turns.reduce((sum, { tokens = 0 }) => sum + tokens, 0)
        )
      }
    })
  )
  t.end()
})

t.test('every line parses to an event or to null', t => {
  fc.assert(
    fc.property(fc.json(), json => {
      const event = eventOf(JSON.parse(json), json)
      if (event !== null) new SessionFold('s', 'r', [event])
    })
  )
  const foreign = '{"event":"reset","at":5,"turns":1}'
  t.equal(eventOf(JSON.parse(foreign), foreign)?.id, foreign, 'an event without an id is identified by its line')
  for (const value of [
    null,
    [],
    1,
    { event: 'turn_added', at: 1, turn: {} },
    { event: 'state_changed', at: 1, state: '?' }
  ])
    t.equal(eventOf(value, ''), null)
  t.end()
})

t.test('generated session ids are unique, and session files stay in their folder', t => {
  const next = sessionIds(() => 1_700_000_000_000, 0xff)
  t.equal(next(), 'sess_6553f100_ff')
  t.equal(next(), 'sess_6553f100_100')
  const ids = new Set(Array.from({ length: 1000 }, sessionIds(Date.now)))
  t.equal(ids.size, 1000)
  t.equal(sessionFileName('sess_6553f100_ff'), 'sess_6553f100_ff.jsonl')
  t.equal(sessionFileName('default'), 'default.jsonl')
  fc.assert(fc.property(fc.string({ unit: 'binary' }), name => /^[a-z0-9_-]+\.jsonl$/.test(sessionFileName(name))))
  for (const name of ['../../etc/passwd', 'A', '.', 'a/b', 'x'.repeat(2000), 'workflow:r'])
    t.match(sessionFileName(name), /^h_[0-9a-f]{32}\.jsonl$/)
  t.end()
})

t.test('sessions become idle and archived with time, and a turn reactivates them', async t => {
  const folder = freshFolder()
  let now = 1_000_000
  const sessions = openSessions({ folder, now: () => now })
  const { session_id } = await sessions.create(1)
  await sessions.record(session_id, () => [turn('a'), turn('b')])
  now += 1_799_000
  t.equal((await sessions.require(session_id)).state, 'active')
  now += 1000
  t.equal((await sessions.require(session_id)).state, 'idle')
  await sessions.sweep()
  now += 86_400_000
  t.equal((await sessions.require(session_id)).state, 'archived')
  await sessions.record(session_id, () => [{ event: 'reset', turns: 2 }, turn('c')])
  t.match(await sessions.require(session_id), { state: 'active', turns: 1 })
  now += 86_400_000
  await sessions.sweep()
  const again = openSessions({ folder, now: () => now })
  t.match(await again.require(session_id), { state: 'compacted', turns: 1, agent_id: 1 })
  const events = readFileSync(join(folder, `${session_id}.jsonl`), 'utf8')
    .trim()
    .split('\n')
  t.same(
    events.map(line => JSON.parse(line).event),
    ['created', 'turn_added', 'turn_added', 'reset', 'turn_added', 'state_changed', 'compacted'].filter(
      (_, at) => at !== 1 && at !== 2
    ),
    'reset turns are removed from the file'
  )
  now += 1
  await again.record(session_id, () => [turn('d')])
  t.same(
    (await sessions.turns(session_id)).map(({ id }) => id),
    ['c', 'd'],
    'a reader of the old file reads the new file'
  )
  t.equal((await sessions.require(session_id)).state, 'active')
})

t.test('beyond the limit, the session with the longest idle time is archived', async t => {
  let now = 1_000_000
  const sessions = openSessions({ folder: freshFolder(), now: () => now, settings: { max_live: 3, idle_seconds: 10 } })
  const names: string[] = []
  for (let at = 0; at < 3; at += 1) {
    names.push((await sessions.create(null)).session_id)
    now += 1000
  }
  const stateOf = async (name = '') => (await sessions.require(name)).state
  names.push((await sessions.create(null)).session_id)
  t.same(
    await Promise.all(names.map(stateOf)),
    ['archived', 'active', 'active', 'active'],
    'if no session is idle, the least recently used one is archived'
  )
  now += 9000
  await sessions.record(names[1] ?? '', () => [turn('a')])
  t.same(await Promise.all(names.slice(1).map(stateOf)), ['active', 'idle', 'active'])
  await sessions.record(names[0] ?? '', () => [turn('b')])
  t.same(await Promise.all(names.map(stateOf)), ['active', 'active', 'archived', 'active'])
})

t.test('sessions with any name are listed by that name, even if only their files exist', async t => {
  const folder = freshFolder()
  const names = ['default', '../up', 'Ünï "quoted" \\ name', 'workflow:r']
  const sessions = openSessions({ folder })
  for (const name of names) await sessions.record(name, () => [turn('a')])
  appendFileSync(join(folder, 'notes.txt'), 'not a session')
  const listed = await openSessions({ folder }).list()
  t.same(listed.map(({ session_id }) => session_id).sort(), [...names].sort())
  t.equal(readdirSync(folder).length, names.length + 1)
  for (const name of ['', 'a\0b', '\ud800', 'x'.repeat(2049)])
    await t.rejects(
      sessions.record(name, () => []),
      { code: 'SES_SESSION_INVALID' }
    )
})

t.test('sessions beyond the memory limit are listed correctly, even after other processes wrote to them', async t => {
  const folder = freshFolder()
  let now = 1_000_000
  const settings = { fsync: 'never', max_live: 1000 } as const
  const sessions = openSessions({ folder, now: () => now, settings })
  const names = Array.from({ length: 100 }, (_, at) => `s${at}`)
  for (const name of names) await sessions.record(name, () => [turn('a')])
  t.equal((await sessions.list()).length, 100)
  now += 1000
  await openSessions({ folder, now: () => now, settings }).record('s7', () => [turn('b')])
  const [first, ...others] = await sessions.list()
  t.match(first, { session_id: 's7', turns: 2 })
  t.ok(others.every(({ turns }) => turns === 1))
})

t.test('concurrent turns are all stored, in the order of the calls', async t => {
  const folder = freshFolder()
  const sessions = openSessions({ folder, settings: { fsync: 'never' } })
  const ids = Array.from({ length: 200 }, (_, at) => `t${at}`)
  await Promise.all(ids.map(id => sessions.record('s', () => [turn(id)])))
  t.same(
    (await openSessions({ folder }).turns('s')).map(({ id }) => id),
    ids
  )
})

t.test('a clock that runs backwards does not reorder turns', async t => {
  const folder = freshFolder()
  let now = 5_000_000
  const sessions = openSessions({ folder, now: () => now })
  await sessions.record('s', () => [turn('a')])
  now = 1_000_000
  await sessions.record('s', () => [turn('b')])
  t.same(
    (await openSessions({ folder }).turns('s')).map(({ id }) => id),
    ['a', 'b']
  )
})
