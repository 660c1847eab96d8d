import { setTimeout as sleep } from 'node:timers/promises'
import type { OutputConstraint } from '@svc/contracts'
import t from 'tap'
import { CompileLimitExceeded, ConstraintThreads, compileConstraint, withLimits } from '#constraint'
import { byteVocabulary, OutputConstraints, write } from '../support/writers.ts'

/** Constraints whose automata need seconds. */
const SLOW: readonly Exclude<OutputConstraint, { type: 'grammar' }>[] = [
  { type: 'regex', pattern: `(?:${Array.from({ length: 14 }, (_, at) => `[ab]*a[ab]{${at + 4}}`).join('|')})x` },
  {
    type: 'gbnf',
    grammar: `root ::= ${Array.from({ length: 2 }, (_, at) => `([ab]* "a" [ab]{${30 + at}})`).join(' | ')}`
  },
  { type: 'json-schema', schema: { type: 'string', pattern: '^\\p{L}{40}\\p{Lu}{40}$', maxLength: 90 } }
]

t.test('a compilation ends at its limits, in every form of constraint', async t => {
  for (const constraint of SLOW) {
    const compile = () => compileConstraint(constraint)
    t.throws(() => withLimits({ milliseconds: 5 }, compile), new CompileLimitExceeded('the time limit is over'))
    t.throws(() => withLimits({ steps: 400_000 }, compile), new CompileLimitExceeded('the limit on steps is exceeded'))
  }
  t.doesNotThrow(() => withLimits({ steps: 10_000 }, () => compileConstraint({ type: 'regex', pattern: 'a' })))
})

t.test('steps are counted for many alternatives, many values and many schemas of one value', async t => {
  const constraints: readonly (typeof SLOW)[number][] = [
    { type: 'gbnf', grammar: `a ::= "x" a | "y"\nroot ::= ${'a|'.repeat(15_000)}a` },
    { type: 'gbnf', grammar: `root ::= ${'.'.repeat(30_000)}` },
    {
      type: 'json-schema',
      schema: {
        enum: Array.from({ length: 2_000 }, (_, at) => at),
        allOf: Array.from({ length: 2_000 }, (_, at) => ({ minimum: -at }))
      }
    }
  ]
  for (const constraint of constraints) {
    const compile = () => compileConstraint(constraint)
    t.throws(() => withLimits({ steps: 400_000 }, compile), new CompileLimitExceeded('the limit on steps is exceeded'))
  }
})

t.test('long chains of references compile, and nesting that exceeds the stack is refused', async t => {
  const length = 20_000
  const names = Array.from({ length }, (_, at) => [`a${at}`, { $ref: `#/$defs/a${at + 1}` }])
  const $defs = Object.fromEntries([...names, [`a${length}`, { type: 'null' }]])
  t.doesNotThrow(() => compileConstraint({ type: 'json-schema', schema: { $defs, $ref: '#/$defs/a0' } }))
  const nested = { type: 'gbnf', grammar: `root ::= ${'('.repeat(99)}"a"${`${'?'.repeat(99)})`.repeat(99)}` } as const
  // Leaves little of the stack, whose size is not known.
  const onLittleStack = (): unknown => {
    try {
      return onLittleStack()
    } catch (error) {
      if (error instanceof RangeError) return compileConstraint(nested)
      throw error
    }
  }
  const refused = { code: 'INF_CONSTRAINT_UNSUPPORTED', message: /nested too deeply/ }
  t.throws(() => onLittleStack(), refused)
})

t.test('thousands of multiples are refused without their product', async t => {
  const allOf = Array.from({ length: 20_000 }, (_, at) => ({ multipleOf: 2 * at + 1 }))
  t.throws(() => compileConstraint({ type: 'json-schema', schema: { allOf } }), {
    code: 'INF_CONSTRAINT_UNSUPPORTED',
    message: /more than 10000 states/
  })
})

t.test('a slow constraint is compiled in a thread, and equals the one compiled here', async t => {
  const choices = Array.from({ length: 400 }, (_, at) => `choice-${(at * 7919) % 100_003}`)
  const constraint = { type: 'regex', pattern: choices.join('|') } as const
  const threads = new ConstraintThreads()
  t.teardown(() => threads.close())
  t.same(await threads.compile(constraint), compileConstraint(constraint))
  const constraints = new OutputConstraints(byteVocabulary)
  t.teardown(() => constraints.close())
  const twice = [1, 2].map(seed => write(constraints, byteVocabulary, constraint, { seed, maxTokens: 50 }))
  for (const { text } of await Promise.all(twice)) t.ok(choices.includes(text), text)
})

t.test('other events are handled while a slow constraint is compiled', async t => {
  const constraints = new OutputConstraints(byteVocabulary)
  t.teardown(() => constraints.close())
  let events = 0
  let running = true
  const compiled = constraints
    .matcher(SLOW[1] as OutputConstraint, { ignoreEnd: false })
    .catch((error: unknown) => error)
    .finally(() => {
      running = false
    })
  while (running) {
    await sleep(1)
    events++
  }
  await compiled
  t.ok(events > 5, `${events} events`)
})

t.test('errors of a thread name the place and the cause, as those of a compilation here', async t => {
  const threads = new ConstraintThreads()
  t.teardown(() => threads.close())
  const here = await (async () => compileConstraint({ type: 'json-schema', schema: { items: { type: 'x' } } }))().catch(
    (error: unknown) => error
  )
  const there = await threads.compile({ type: 'json-schema', schema: { items: { type: 'x' } } }).catch(error => error)
  const { code, message, at } = here as { code: string; message: string; at: object }
  t.match(there, { code, message, at })
})

t.test('a compilation beyond the limit is refused, and a closed model ends all', async t => {
  const limited = new ConstraintThreads({ limitMs: 1 })
  t.teardown(() => limited.close())
  const [slow] = SLOW as [(typeof SLOW)[number]]
  await t.rejects(limited.compile(slow), {
    code: 'INF_CONSTRAINT_UNSUPPORTED',
    message: /too large: compiling it takes more than 0.001 s/
  })
  const threads = new ConstraintThreads()
  const pending = [threads.compile(slow), threads.compile(slow, 'other')].map(each =>
    t.rejects(each, { code: 'INF_MODEL_CLOSED' })
  )
  await threads.close()
  await Promise.all(pending)
  await t.rejects(threads.compile(slow), { code: 'INF_MODEL_CLOSED' })
})

t.test('a client with many slow constraints does not displace others', async t => {
  const threads = new ConstraintThreads()
  const [slow] = SLOW as [(typeof SLOW)[number]]
  const settled = Array.from({ length: 70 }, () =>
    threads.compile(slow, 'greedy').catch((error: { code: string }) => error.code)
  )
  const other = threads
    .compile({ type: 'regex', pattern: 'ab' }, 'modest')
    .catch((error: { code: string }) => error.code)
  t.equal(await Promise.race(settled), 'INF_BUSY')
  await threads.close()
  t.equal(await other, 'INF_MODEL_CLOSED', 'it waited until the end')
  t.ok((await Promise.all(settled)).includes('INF_MODEL_CLOSED'))
})
