import { setImmediate as turn } from 'node:timers/promises'
import { type Surface, surfaces } from '@svc/contracts'
import {
  gate,
  inlineSource,
  type PluginSource,
  type PreparedCode,
  type TestConfiguration,
  World
} from '@svc/kernel/testing'
import { defineOperation, definePlugin, type Plugin, ref, t as s, service } from '@svc/plugin-sdk'
import { assertNoLeaks } from '@svc/plugin-sdk/testing'
import fc from 'fast-check'
import t, { type Test } from 'tap'

/*
 * Applies random changes to five plugins that depend on each other, and compares the result with a model. Meanwhile,
 * each call must return a result, and disposed resources must not be used.
 */

const NAMES = ['a', 'b', 'c', 'd', 'e'] as const
type Name = (typeof NAMES)[number]

const REQUIRES: Readonly<Record<Name, readonly Name[]>> = { a: [], b: ['a'], c: ['b'], d: ['a'], e: [] }
/** Providers whose services a plugin holds, required or not; `d` only refers to `a`. */
const HOLDS: Readonly<Record<Name, readonly Name[]>> = { a: [], b: ['a'], c: ['b'], d: [], e: ['b'] }

interface Part {
  readonly revision: number
  readonly works: boolean
  /** Identity of the folder; a folder that was removed and created again has another. */
  readonly folder: number
}

interface Handle {
  readonly revision: number
  use(): number
}

const tokens = { a: service<Handle>('a@1'), b: service<Handle>('b@1') }
const who = (name: string) =>
  defineOperation({
    id: `${name}.who`,
    summary: 'x',
    input: s.object({ hold: s.integer({ default: 0 }) }),
    output: s.object({ revision: s.integer(), sees: s.record(s.integer()) }),
    effect: 'read'
  })

/** Recorded events of the real units. */
class Diary {
  readonly disposals = new Map<string, number>()
  readonly faults: string[] = []
  readonly held: { readonly release: () => void; readonly answer: Promise<unknown>; readonly revision: number }[] = []
  activations = 0
  hold = gate()

  /** Returns a service that records a fault if it is used while its unit is not alive. */
  handle(unit: string, revision: number, alive: () => boolean): Handle {
    return {
      revision,
      use: () => {
        if (!alive()) this.faults.push(`${unit} was used when it was not alive`)
        return revision
      }
    }
  }
}

function plugin(name: Name, { revision, works }: Part, diary: Diary): Plugin {
  const provides = name === 'a' || name === 'b' ? [tokens[name]] : []
  const definitions = {
    a: {},
    b: { requires: { a: tokens.a } },
    c: { requires: { b: tokens.b } },
    d: { requires: { a: ref(tokens.a) } },
    e: { optional: { b: tokens.b }, after: ['c'] }
  }
  return definePlugin<any, any, any, any>({
    name,
    provides,
    operations: [who(name)],
    ...definitions[name],
    async activate(ctx, given) {
      const deps = given as Readonly<Record<string, (Handle & { readonly current: Handle }) | undefined>>
      diary.activations += 1
      const unit = `${name}${revision} #${diary.activations}`
      let alive = true
      diary.disposals.set(unit, 0)
      ctx.effect('life', async () => {
        await turn()
        alive = false
        diary.disposals.set(unit, (diary.disposals.get(unit) ?? 0) + 1)
      })
      const sees = (): Record<string, number> => {
        if (name === 'd') return { a: deps.a!.current.use() }
        return Object.fromEntries(HOLDS[name].flatMap(held => (deps[held] ? [[held, deps[held]!.use()]] : [])))
      }
      if (name !== 'd') sees()
      await turn()
      if (!works) throw new Error(`${unit} does not work`)
      if (name === 'a' || name === 'b')
        ctx.provide(
          tokens[name],
          diary.handle(unit, revision, () => alive)
        )
      ctx.implement(who(name), async ({ hold }) => {
        if (hold > 0) await diary.hold.passed
        if (!alive) diary.faults.push(`${unit} answered when it was not alive`)
        return { revision, sees: sees() }
      })
    }
  })
}

/** Plugin on disk: one source object for all its revisions, as from discovery. */
class Disk {
  readonly sources = new Map<Name, PluginSource & { part: Part }>()

  write(name: Name, part: Part, diary: Diary): void {
    const known = this.sources.get(name)
    if (known !== undefined) known.part = part
    else this.sources.set(name, this.#source(name, part, diary))
  }

  #source(name: Name, first: Part, diary: Diary): PluginSource & { part: Part } {
    return {
      ...inlineSource(plugin(name, first, diary)),
      part: first,
      async prepare(): Promise<PreparedCode> {
        return inlineSource(plugin(name, this.part, diary), `1.0.${this.part.revision}`).prepare()
      }
    }
  }
}

interface Known {
  folder: number
  /** Code that the kernel read last. */
  code: Part | null
  failed: boolean
  running: Part | null
  /** Providers of the services that the unit received. */
  holds: ReadonlySet<Name>
}

/** Expected result. */
class Model {
  readonly disk = new Map<Name, Part>()
  readonly off = new Set<Name>()
  /** Plugins that are disabled in the applied configuration. */
  wasOff = new Set<Name>()
  known = new Map<Name, Known>()
  generation = 0
  revision = 0
  refuses = false

  /** Predicts a change. Returns false if it must fail. */
  change(stale: readonly Name[], forced: readonly Name[]): boolean {
    const before = new Map([...this.known].map(([name, each]) => [name, { ...each }]))
    const tried = new Set([...stale, ...NAMES.filter(name => this.off.has(name) !== this.wasOff.has(name))])
    for (const name of this.known.keys()) if (!this.disk.has(name)) this.known.delete(name)
    for (const [name, part] of this.disk) {
      const { folder } = part
      const known = this.known.get(name) ?? { folder, code: null, failed: false, running: null, holds: new Set() }
      this.known.set(name, known)
      if (known.folder !== folder) known.code = null
      known.folder = folder
      const mayRun = !this.off.has(name) && (!known.failed || tried.has(name))
      if (mayRun && (known.code === null || stale.includes(name))) known.code = part
    }
    for (;;) {
      const wanted = this.#wanted(tried)
      const fresh = this.#fresh(wanted, new Set(forced))
      const broken = NAMES.find(name => fresh.has(name) && this.known.get(name)?.code?.works !== true)
      const gone = [...before].some(([name, { running }]) => running !== null && !wanted.has(name))
      const nothing = fresh.size === 0 && !gone && this.generation > 0
      if (broken === undefined && (nothing || !this.refuses)) {
        this.#commit(wanted, fresh, tried, nothing)
        return true
      }
      if (broken !== undefined && this.known.get(broken)?.running === null) {
        this.known.get(broken)!.failed = true
        tried.delete(broken)
        continue
      }
      // The change fails: the state is as before, except that failed plugins stay failed.
      for (const [name, each] of before) each.failed ||= this.known.get(name)?.failed ?? false
      this.known = before
      return false
    }
  }

  #wanted(tried: ReadonlySet<Name>): Set<Name> {
    const wanted = new Set(
      NAMES.filter(name => {
        const known = this.known.get(name)
        return known !== undefined && !this.off.has(name) && (!known.failed || tried.has(name)) && known.code !== null
      })
    )
    for (const name of NAMES) if (REQUIRES[name].some(need => !wanted.has(need))) wanted.delete(name)
    return wanted
  }

  /** Returns the plugins to activate: new and changed ones, and users of those. */
  #fresh(wanted: ReadonlySet<Name>, forced: ReadonlySet<Name>): Set<Name> {
    const fresh = new Set<Name>()
    for (const name of NAMES) {
      const known = this.known.get(name)
      if (!wanted.has(name) || known === undefined) continue
      const rebound = HOLDS[name].some(held => fresh.has(held) || wanted.has(held) !== known.holds.has(held))
      const changed = known.running?.revision !== known.code?.revision
      if (known.running === null || changed || forced.has(name) || rebound) fresh.add(name)
    }
    return fresh
  }

  #commit(wanted: ReadonlySet<Name>, fresh: ReadonlySet<Name>, tried: ReadonlySet<Name>, nothing: boolean): void {
    if (!nothing) this.generation += 1
    this.wasOff = new Set(this.off)
    for (const [name, known] of this.known) {
      if (tried.has(name) || wanted.has(name) || this.off.has(name)) known.failed = false
      if (!wanted.has(name)) known.running = null
      else if (fresh.has(name)) {
        known.running = known.code
        known.holds = new Set(HOLDS[name].filter(held => wanted.has(held)))
      }
    }
  }
}

class Real {
  readonly world: World
  readonly disk = new Disk()
  readonly diary = new Diary()
  readonly configurations: Record<string, TestConfiguration> = {}
  #refuses = false

  constructor(t: Test) {
    const surface: Surface = {
      prepare: () => {
        if (this.#refuses) throw new Error('no room')
        return { commit: () => {}, abort: () => {} }
      }
    }
    this.world = new World(t).put(definePlugin({ name: 's', activate: ctx => ctx.contribute(surfaces, surface) }))
  }

  async start(): Promise<void> {
    await this.world.apply()
  }

  /** Applies the files on disk. Returns true if the change succeeded. */
  async apply(model: Model, stale: readonly Name[], forced: readonly Name[] = []): Promise<boolean> {
    for (const name of NAMES) {
      const source = this.disk.sources.get(name)
      if (model.disk.has(name) && source !== undefined) this.world.putSource(source)
      else this.world.remove(name)
    }
    this.#refuses = model.refuses
    const before = this.snapshot()
    try {
      await this.world.configure({ ...this.configurations }).apply({ stale, forced })
      return true
    } catch {
      const after = this.snapshot()
      if (after !== before) throw new Error(`a refused change shows:\n${before}\n${after}`)
      return false
    }
  }

  snapshot(): string {
    const { current, graph, records } = this.world.kernel
    const codes = [...records].map(([name, { code }]) => `${name} ${code?.fingerprint}`)
    const units = [...current.units.values()].map(unit => `${unit.instance} ${unit.state}`)
    return JSON.stringify({ id: current.id, units, codes: codes.sort(), order: graph.order })
  }
}

type Command = fc.AsyncCommand<Model, Real>

/** Compares all observable state with the model. */
async function verify(model: Model, { world, diary }: Real): Promise<void> {
  const { current } = world.kernel
  if (current.id !== model.generation + 1) throw new Error(`generation ${current.id}, not ${model.generation + 1}`)
  for (const name of NAMES) {
    const part = model.known.get(name)?.running ?? null
    const unit = current.units.get(name)
    if ((part === null) !== (unit === undefined)) {
      throw new Error(`${name} should ${part === null ? 'not run' : 'run'}: ${world.state(name)}, ${world.why(name)}`)
    }
    const answer = await world.call(`${name}.who`).catch((error: { code: string }) => error.code)
    if (part === null) {
      if (answer !== 'OPR_UNKNOWN') throw new Error(`${name}.who answers ${JSON.stringify(answer)}`)
      continue
    }
    const seen = name === 'd' ? ['a' as const] : HOLDS[name].filter(held => model.known.get(held)?.running)
    const sees = Object.fromEntries(seen.map(held => [held, model.known.get(held)?.running?.revision]))
    const expected = JSON.stringify({ revision: part.revision, sees })
    if (JSON.stringify(answer) !== expected) throw new Error(`${name}.who: ${JSON.stringify(answer)}, not ${expected}`)
  }
  if (diary.faults.length > 0) throw new Error(diary.faults.join('; '))
}

class Change implements Command {
  readonly edits: readonly { name: Name; works: boolean }[]
  readonly toggles: readonly Name[]
  readonly moves: readonly Name[]
  readonly forced: readonly Name[]
  readonly refuses: boolean

  constructor(
    edits: readonly { name: Name; works: boolean }[],
    toggles: readonly Name[],
    moves: readonly Name[],
    forced: readonly Name[],
    refuses: boolean
  ) {
    this.edits = edits
    this.toggles = toggles
    this.moves = moves
    this.forced = forced
    this.refuses = refuses
  }

  check(): boolean {
    return true
  }

  async run(model: Model, real: Real): Promise<void> {
    const write = (name: Name, works: boolean): void => {
      model.revision += 1
      const part = { revision: model.revision, works, folder: model.disk.get(name)?.folder ?? model.revision }
      model.disk.set(name, part)
      real.disk.write(name, part, real.diary)
    }
    // Folders are removed and created again; a plugin that returns has new code.
    for (const name of this.moves) {
      if (model.disk.delete(name)) real.disk.sources.delete(name)
      else write(name, true)
    }
    const edits = this.edits.filter(({ name }) => model.disk.has(name))
    for (const { name, works } of edits) write(name, works)
    for (const name of this.toggles) {
      if (!model.off.delete(name)) model.off.add(name)
      real.configurations[name] = { enabled: !model.off.has(name) }
    }
    model.refuses = this.refuses
    const stale = edits.map(({ name }) => name)
    const forced = this.forced.filter(name => model.known.get(name)?.running)
    const passed = model.change(stale, forced)
    const did = await real.apply(model, stale, forced)
    if (did !== passed) throw new Error(`the change should have been ${passed ? 'applied' : 'refused'}`)
    await verify(model, real)
  }

  toString(): string {
    const edits = this.edits.map(({ name, works }) => `${works ? 'edit' : 'break'} ${name}`)
    const list = [
      ...edits,
      ...this.toggles.map(name => `toggle ${name}`),
      ...this.moves.map(name => `move ${name}`),
      ...this.forced.map(name => `reload ${name}`),
      ...(this.refuses ? ['surface refuses'] : [])
    ]
    return `change(${list.join(', ')})`
  }
}

class Hold implements Command {
  readonly name: Name

  constructor(name: Name) {
    this.name = name
  }

  check(model: Model): boolean {
    return model.known.get(this.name)?.running != null
  }

  async run(model: Model, { world, diary }: Real): Promise<void> {
    const revision = model.known.get(this.name)?.running?.revision ?? 0
    const answer = world.call(`${this.name}.who`, { hold: 1 })
    answer.catch(() => {})
    diary.held.push({ release: () => diary.hold.open(), answer, revision })
    await turn()
  }

  toString(): string {
    return `hold(${this.name})`
  }
}

class Release implements Command {
  check(): boolean {
    return true
  }

  async run(_model: Model, { diary }: Real): Promise<void> {
    await release(diary)
  }

  toString(): string {
    return 'release()'
  }
}

/** Ends pending calls, and checks that each ran on the code with which it started. */
async function release(diary: Diary): Promise<void> {
  diary.hold.open()
  diary.hold = gate()
  for (const { answer, revision } of diary.held.splice(0)) {
    const got = (await answer) as { revision: number }
    if (got.revision !== revision) throw new Error(`a call that began with ${revision} ended with ${got.revision}`)
  }
}

class Uncaught implements Command {
  readonly name: Name

  constructor(name: Name) {
    this.name = name
  }

  check(model: Model): boolean {
    return model.known.get(this.name)?.running != null
  }

  async run(model: Model, real: Real): Promise<void> {
    const unit = real.world.kernel.current.units.get(this.name)
    if (unit !== undefined) real.world.kernel.uncaught(unit, new Error('stray'))
    if (unit?.state !== 'degraded') throw new Error(`${this.name} is ${unit?.state}`)
    await verify(model, real)
  }

  toString(): string {
    return `uncaught(${this.name})`
  }
}

const name = fc.constantFrom(...NAMES)
const few = fc.uniqueArray(name, { maxLength: 2 })
const edit = fc.record({ name, works: fc.boolean() })
const changes = fc
  .tuple(
    fc.uniqueArray(edit, { maxLength: 3, selector: each => each.name }),
    fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: few }),
    fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: few }),
    fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: few }),
    fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })
  )
  .map(args => new Change(...args))
const commands = fc.commands(
  [
    changes,
    changes,
    changes,
    name.map(each => new Hold(each)),
    fc.constant(new Release()),
    name.map(each => new Uncaught(each))
  ],
  { maxCommands: 14, size: 'max' }
)

t.test('for any changes of plugins: the state equals that of the model', async t => {
  await assertNoLeaks(async () => {
    await fc.assert(
      fc.asyncProperty(commands, async all => {
        const real = new Real(t)
        const model = new Model()
        await real.start()
        const setup = () => ({ model, real })
        await new Change([], [], NAMES, [], false).run(model, real)
        await fc.asyncModelRun(setup, all)
        await release(real.diary)
        await real.world.kernel.close()
        for (const [unit, times] of real.diary.disposals) {
          if (times !== 1) throw new Error(`${unit} was disposed ${times} times`)
        }
        if (real.diary.faults.length > 0) throw new Error(real.diary.faults.join('; '))
      }),
      { numRuns: 150 }
    )
  })
  t.pass()
})
