import {
  type CallerInputOf,
  defineOperation,
  definePlugin,
  type ErrorsOf,
  type EventOf,
  hook,
  type Infer,
  type InferInput,
  type InputOf,
  type OutputOf,
  point,
  ref,
  type StandardJsonSchema,
  service,
  t
} from '@svc/plugin-sdk'
import { fake } from '@svc/plugin-sdk/testing'

/** Fails to compile unless both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function same<A, B>(_proof: Same<A, B>): void {}

// Schemas: types of valid values, and of values that a caller may write.

const person = t.object({
  name: t.string({ minLength: 1 }),
  age: t.optional(t.integer()),
  role: t.enum(['admin', 'guest'], { default: 'guest' }),
  tags: t.array(t.string(), { default: [] }),
  note: t.nullable(t.string()),
  limits: t.record(t.number()),
  either: t.union([t.boolean(), t.object({ deep: t.boolean({ default: false }) })]),
  key: t.secret(),
  anything: t.unknown()
})

same<
  Infer<typeof person>,
  {
    name: string
    role: 'admin' | 'guest'
    tags: string[]
    note: string | null
    limits: Record<string, number>
    either: boolean | { deep: boolean }
    key: string
    anything: unknown
    age?: number
  }
>(true)
same<
  InferInput<typeof person>,
  {
    name: string
    note: string | null
    limits: Record<string, number>
    either: boolean | { deep?: boolean }
    key: string
    anything: unknown
    age?: number
    role?: 'admin' | 'guest'
    tags?: string[]
  }
>(true)

// @ts-expect-error a default has the type of its schema
t.integer({ default: 'one' })
// @ts-expect-error a default is one of the choices
t.enum(['a', 'b'], { default: 'c' })
// @ts-expect-error minLength is for strings
t.number({ minimum: 0, minLength: 1 })
// @ts-expect-error a keyword that does not exist is a typo
t.string({ description: 'x', minLenght: 1 })
// @ts-expect-error also with a default
t.boolean({ default: true, descripton: 'x' })
// @ts-expect-error also in lists
t.array(t.string(), { minItem: 1 })
// @ts-expect-error also in keywords that start with x-
t.string({ 'x-env': 'A', 'x-relaod': 'live' })
// @ts-expect-error properties are schemas
t.object({ name: 'string' })

// Operations.

const greet = defineOperation({
  id: 'demo.greet',
  summary: 'Greet',
  input: t.object({ name: t.string(), times: t.integer({ default: 1 }) }),
  output: t.object({ text: t.string(), loud: t.boolean({ default: false }) }),
  events: t.object({ piece: t.string() }),
  errors: { DEMO_MUTE: { message: 'Nothing to say.' } }
})
same<InputOf<typeof greet>, { name: string; times: number }>(true)
same<CallerInputOf<typeof greet>, { name: string; times?: number }>(true)
same<OutputOf<typeof greet>, { text: string; loud: boolean }>(true)
same<EventOf<typeof greet>, { piece: string }>(true)
same<keyof ErrorsOf<typeof greet>, 'DEMO_MUTE'>(true)

defineOperation({
  id: 'x',
  summary: 'x',
  input: t.object({}),
  output: t.object({}),
  // @ts-expect-error an effect is read, write or destructive
  effect: 'harmless'
})
defineOperation({
  id: 'x',
  summary: 'x',
  input: t.object({}),
  output: t.object({}),
  // @ts-expect-error the HTTP method does not exist
  expose: { http: { method: 'FETCH', path: '/' } }
})
// @ts-expect-error an operation needs a summary
defineOperation({ id: 'x', input: t.object({}), output: t.object({}) })

// A schema of another library instead of the builder.

declare const standard: StandardJsonSchema<{ port: number }, { port?: number }>
const listen = defineOperation({ id: 'demo.listen', summary: 'x', input: standard, output: standard })
same<InputOf<typeof listen>, { port: number }>(true)
same<CallerInputOf<typeof listen>, { port?: number }>(true)

// Plugins.

interface Clock {
  now(): number
  zone: string
}
const clock = service<Clock>('demo.clock@1')
const shelf = point<{ title: string }>('demo.shelf')
const asked = hook<[question: string, depth: number], string>('demo.asked', 'bail')

// @ts-expect-error an id ends with a major version
service<Clock>('demo.clock')

definePlugin({
  name: 'user',
  config: t.object({ word: t.string({ default: 'hi' }), port: t.optional(t.integer()) }),
  requires: { clock, later: ref(clock) },
  optional: { maybe: clock },
  operations: [greet],
  async activate(ctx, deps) {
    same<typeof ctx.config, { word: string; port?: number }>(true)
    same<typeof deps.clock, Clock>(true)
    same<typeof deps.maybe, Clock | undefined>(true)
    deps.later.current.now()
    // @ts-expect-error a reference is looked up on use
    deps.later.now()
    // @ts-expect-error an optional service may be absent
    deps.maybe.now()
    // @ts-expect-error the dependency was not declared
    deps.other

    ctx.implement(greet, ({ name, times }, call) => {
      call.emit({ piece: name.repeat(times) })
      // @ts-expect-error events have a type
      call.emit('piece')
      // @ts-expect-error the error code was not declared
      if (times > 9) call.fail('DEMO_LOUD')
      return name === '' ? call.fail('DEMO_MUTE') : { text: name, loud: false }
    })
    // @ts-expect-error the output has a type
    ctx.implement(greet, () => ({ text: 1, loud: false }))
    // @ts-expect-error the input has no such field
    ctx.implement(greet, ({ nmae }) => ({ text: String(nmae), loud: false }))

    const { text } = await ctx.call(greet, { name: 'Ada' })
    same<typeof text, string>(true)
    // @ts-expect-error a required field is missing
    await ctx.call(greet, { times: 2 })
    // @ts-expect-error the field does not exist
    await ctx.call(greet, { name: 'Ada', tims: 2 })

    ctx.provide(clock, { now: () => 0, zone: 'UTC' })
    // @ts-expect-error the service has more members
    ctx.provide(clock, { now: () => 0 })
    ctx.contribute(shelf, { title: 'x' })
    // @ts-expect-error an item has another shape
    ctx.contribute(shelf, { name: 'x' })
    // @ts-expect-error an item needs all members
    ctx.contribute(shelf, {})

    ctx.on(asked, question => (question === '' ? undefined : question.toUpperCase()))
    ctx.on(asked, () => undefined)
    // @ts-expect-error a tap returns the type of its hook
    ctx.on(asked, () => 5)
    // @ts-expect-error a tap receives the arguments of its hook
    ctx.on(asked, (question: number) => String(question))
    const answer = await ctx.trigger(asked, 'why', 2)
    same<typeof answer, string | undefined>(true)
    // @ts-expect-error an argument is missing
    await ctx.trigger(asked, 'why')

    ctx.onConfig((next, previous) => void (next.word === previous.word))
    const kept = await ctx.keep(
      'socket',
      () => ({ port: 1 }),
      value => void value.port
    )
    same<typeof kept, { port: number }>(true)
    return () => {}
  }
})

definePlugin({
  name: 'bare',
  activate(ctx, deps) {
    // @ts-expect-error a plugin without settings has none
    ctx.config.word
    // @ts-expect-error a plugin without dependencies has none
    deps.clock
  }
})

// @ts-expect-error a plugin needs an activate function
definePlugin({ name: 'idle' })
// @ts-expect-error `provides` lists service tokens
definePlugin({ name: 'x', provides: ['demo.clock@1'], activate() {} })
// @ts-expect-error `activate` returns a function or nothing
definePlugin({ name: 'x', activate: () => 'stopped' })

fake(clock, { now: () => 0, zone: 'UTC' })
// @ts-expect-error a fake needs all members of its service
fake(clock, { now: () => 0 })
