import t from 'tap'
import { type Job, type JobEvent, runConcurrently } from '#root'

async function all<A>(events: AsyncIterable<JobEvent<A>>): Promise<JobEvent<A>[]> {
  const read: JobEvent<A>[] = []
  for await (const event of events) read.push(event)
  return read
}

const { signal } = new AbortController()

t.test('runs at most `width` jobs concurrently, and keeps the order of events within each', async t => {
  let running = 0
  let maxRunning = 0
  const job = (length: number): Job<number> => {
    return async () => {
      maxRunning = Math.max(maxRunning, ++running)
      return (async function* () {
        for (let at = 0; at < length; at++) {
          await new Promise(setImmediate)
          yield at
        }
        running -= 1
      })()
    }
  }
  for (const width of [1, 2, 3]) {
    maxRunning = 0
    const events = await all(await runConcurrently([job(3), job(0), job(5), job(1)], width, signal))
    t.equal(maxRunning, width)
    for (const [index, length] of [3, 0, 5, 1].entries()) {
      const own = events.filter(each => each.index === index).map(each => each.event)
      t.same(own, [...Array(length).keys()])
    }
  }
})

t.test('a job that waits does not block the others', async t => {
  let free = (_: unknown) => {}
  const slot = new Promise(resolve => {
    free = resolve
  })
  const first: Job<string> = async () =>
    (async function* () {
      yield 'a'
      yield 'b'
      free(null)
    })()
  const second: Job<string> = async () => {
    await slot
    return (async function* () {
      yield 'c'
    })()
  }
  const events = await all(await runConcurrently([first, second], 2, signal))
  t.same(events.map(each => each.event).join(''), 'abc')
})

t.test('if the first job fails, no event is emitted; if a later one fails, all jobs end', async t => {
  const refuse: Job<number> = async () => {
    throw new Error('refused')
  }
  let ended = false
  const endless: Job<number> = async (_admitted, own) =>
    (async function* () {
      try {
        while (!own.aborted) {
          await new Promise(setImmediate)
          yield 1
        }
      } finally {
        ended = true
      }
    })()
  await t.rejects(runConcurrently([refuse, endless], 2, signal), /refused/)
  await t.rejects(all(await runConcurrently([endless, refuse], 2, signal)), /refused/)
  t.ok(ended)
  const admissions: boolean[] = []
  const note: Job<number> = async admitted => {
    admissions.push(admitted)
    return (async function* () {})()
  }
  await all(await runConcurrently([note, note], 1, signal))
  t.same(admissions, [false, true], 'all jobs but the first are marked as admitted')
})

t.test('all jobs end when the consumer stops reading', async t => {
  const controller = new AbortController()
  let ended = 0
  const endless: Job<number> = async (_admitted, own) =>
    (async function* () {
      try {
        while (!own.aborted) {
          await new Promise(setImmediate)
          yield 1
        }
      } finally {
        ended += 1
      }
    })()
  for await (const _ of await runConcurrently([endless, endless], 2, controller.signal)) break
  t.equal(ended, 2)
  const rest = runConcurrently([endless, endless], 2, controller.signal)
  controller.abort()
  await all(await rest)
  t.pass()
})
