import { manifestDigest } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { isDual, type Records, TRANSITIONS } from '#root'
import { content, open } from './kit.ts'

/** Expected content of the store, written down independently of it. */
interface Model {
  readonly id: string
  text: number
  state: string
  version: number
  approvers: Set<string>
  /** Texts that were published. */
  readonly published: Set<number>
  events: number
}

interface Real {
  readonly records: Records
}

const ANN = { name: 'ann', role: 'human' } as const
const BOB = { name: 'bob', role: 'human' } as const

const TITLES = ['A', 'B', 'C']
const PEOPLE = ['ann', 'bob', 'carol', 'agent:x', 'agent:y']
const STATES = ['draft', 'approved', 'published', 'publish_failed', 'submitted', 'accepted']
const LOCAL = new Set(STATES.slice(0, 4))

const contentOf = (id: string, text: number) => content({ publication_id: id, title: TITLES[text] as string })
const roleOf = (name: string) => (name.startsWith('agent:') ? 'agent' : 'human')
const isComplete = ({ approvers }: Model) =>
  approvers.size >= 2 && [...approvers].some(each => roleOf(each) === 'human')

async function check(model: Model, { records }: Real): Promise<void> {
  const manifest = await records.get(model.id)
  const approvals = await records.approvals(model.id, manifest.content_sha3_256)
  const actual = {
    title: manifest.title,
    state: manifest.state,
    version: manifest.version,
    approvers: approvals.map(({ approver }) => approver).sort()
  }
  const expected = {
    title: TITLES[model.text],
    state: model.state,
    version: model.version,
    approvers: [...model.approvers].sort()
  }
  if (JSON.stringify(actual) !== JSON.stringify(expected))
    throw new Error(`${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`)
  const events = await records.history.events(model.id, 1_000)
  if (events.length !== model.events) throw new Error(`${events.length} events instead of ${model.events}`)
}

async function digestOf(model: Model, { records }: Real): Promise<string> {
  return (await records.get(model.id)).content_sha3_256
}

class Prepare implements fc.AsyncCommand<Model, Real> {
  readonly #text: number
  constructor(text: number) {
    this.#text = text
  }
  check() {
    return true
  }
  async run(model: Model, real: Real) {
    await real.records.prepare(contentOf(model.id, this.#text))
    if (model.text !== this.#text) {
      Object.assign(model, { text: this.#text, state: 'draft', version: model.version + 1, approvers: new Set() })
      model.events += 1
    }
    await check(model, real)
  }
  toString = () => `prepare ${this.#text}`
}

class Approve implements fc.AsyncCommand<Model, Real> {
  readonly #name: string
  constructor(name: string) {
    this.#name = name
  }
  check() {
    return true
  }
  async run(model: Model, real: Real) {
    const role = roleOf(this.#name)
    const result = await real.records.approve(model.id, await digestOf(model, real), { name: this.#name, role })
    if (!model.approvers.has(this.#name)) model.events += 1
    model.approvers.add(this.#name)
    if (isComplete(model) && model.state === 'draft') {
      model.state = 'approved'
      model.events += 1
    }
    if (result.complete !== isComplete(model) || isDual(result.approvals) !== isComplete(model))
      throw new Error('wrong completeness')
    await check(model, real)
  }
  toString = () => `approve ${this.#name}`
}

class Revoke implements fc.AsyncCommand<Model, Real> {
  readonly #name: string
  constructor(name: string) {
    this.#name = name
  }
  check() {
    return true
  }
  async run(model: Model, real: Real) {
    const isAllowed = model.state === 'draft' || model.state === 'approved'
    const outcome = await real.records
      .revoke(model.id, await digestOf(model, real), this.#name)
      .catch(error => error.code)
    const expected = isAllowed ? model.approvers.has(this.#name) : 'PUB_REVOKE_REFUSED'
    if (outcome !== expected) throw new Error(`${outcome} instead of ${expected}`)
    if (isAllowed && model.approvers.delete(this.#name)) {
      model.events += 1
      if (!isComplete(model) && model.state === 'approved') {
        model.state = 'draft'
        model.events += 1
      }
    }
    await check(model, real)
  }
  toString = () => `revoke ${this.#name}`
}

class SetState implements fc.AsyncCommand<Model, Real> {
  readonly #state: string
  readonly #isStale: boolean
  constructor(state: string, isStale: boolean) {
    this.#state = state
    this.#isStale = isStale
  }
  check() {
    return true
  }
  async run(model: Model, real: Real) {
    const digest = this.#isStale ? 'f'.repeat(64) : await digestOf(model, real)
    const changed = await real.records.setState(model.id, digest, this.#state)
    const isOpen = model.state !== 'draft' && !this.#isStale
    const expected =
      isOpen && this.#state !== 'draft' && this.#state !== 'approved'
        ? !(model.published.has(model.text) && this.#state === 'publish_failed' && model.state !== this.#state)
        : false
    if (changed !== expected) throw new Error(`${changed} instead of ${expected}`)
    if (changed && model.state !== this.#state) {
      model.state = this.#state
      model.events += 1
      if (this.#state === 'published') model.published.add(model.text)
    }
    await check(model, real)
  }
  toString = () => `set ${this.#state}${this.#isStale ? ' of other content' : ''}`
}

t.test('every sequence of contents, approvals and states agrees with a simple model', async t => {
  const { records } = await open(t)
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.commands(
        [
          fc.nat({ max: 2 }).map(text => new Prepare(text)),
          fc.constantFrom(...PEOPLE).map(name => new Approve(name)),
          fc.constantFrom(...PEOPLE).map(name => new Approve(name)),
          fc.constantFrom(...PEOPLE).map(name => new Revoke(name)),
          fc.tuple(fc.constantFrom(...STATES), fc.nat({ max: 4 })).map(([state, at]) => new SetState(state, at === 0))
        ],
        { maxCommands: 25 }
      ),
      async commands => {
        runs += 1
        const id = `model-${runs}`
        await records.prepare(contentOf(id, 0))
        const model: Model = {
          ...{ id, text: 0, state: 'draft', version: 1, events: 1 },
          ...{ approvers: new Set(), published: new Set() }
        }
        await fc.asyncModelRun(() => ({ model, real: { records } }), commands)
      }
    ),
    { numRuns: 60 }
  )
  t.pass()
})

t.test('every allowed change of the state leads to a known state, and drafts only to approved ones', async t => {
  const kinds = new Set([...LOCAL, 'remote'])
  for (const [from, next] of Object.entries(TRANSITIONS)) {
    t.ok(kinds.has(from))
    for (const to of next) t.ok(kinds.has(to), `${from} to ${to}`)
  }
  t.strictSame(TRANSITIONS.draft, ['approved'])
})

t.test('concurrent approvals and contents leave one content with its own approvals only', async t => {
  const { records } = await open(t)
  const first = await records.prepare(content({ publication_id: 'p', title: 'A' }))
  const outcomes = await Promise.allSettled(
    Array.from({ length: 120 }, (_, at) => {
      if (at % 10 === 9) return records.prepare(content({ publication_id: 'p', title: `Title ${at}` }))
      const approver = { name: `person ${at % 7}`, role: 'human' } as const
      return records.approve('p', first.content_sha3_256, approver)
    })
  )
  const now = await records.get('p')
  t.equal(now.state, 'draft')
  t.equal(now.version, 13)
  t.strictSame(await records.approvals('p', first.content_sha3_256), [])
  t.strictSame(await records.approvals('p', now.content_sha3_256), [])
  const refused = outcomes.filter(each => each.status === 'rejected').map(each => each.reason.code)
  t.strictSame(new Set(refused), new Set(['PUB_DIGEST_CHANGED']))
  const [voided] = (await records.history.events('p', 1_000)).filter(({ detail }) => detail.version === 2)
  const { voided_approvals } = voided?.detail ?? {}
  t.equal((voided_approvals as unknown[]).length, 7, 'the event lists the approvals that were voided')
})

t.test('one person who approves many times at once is one approver', async t => {
  const { records } = await open(t)
  const { content_sha3_256: digest } = await records.prepare(content())
  const person = { name: 'ann', role: 'human' } as const
  const results = await Promise.all(Array.from({ length: 50 }, () => records.approve('study-1', digest, person)))
  t.equal(results.filter(({ isNew }) => isNew).length, 1)
  t.equal((await records.approvals('study-1', digest)).length, 1)
  t.equal((await records.get('study-1')).state, 'draft')
})

t.test('a publication is a draft until two people approved its digest', async t => {
  const { records } = await open(t)
  const manifest = await records.prepare(content())
  t.match(manifest, { version: 1, state: 'draft', content_sha3_256: manifestDigest(content()) })
  const { content_sha3_256: digest } = manifest
  t.match(await records.approve('study-1', digest, ANN), { complete: false, isNew: true })
  t.match(await records.approve('study-1', digest, ANN), { complete: false, isNew: false })
  t.equal((await records.get('study-1')).state, 'draft')
  t.match(await records.approve('study-1', digest, BOB), { complete: true })
  t.equal((await records.get('study-1')).state, 'approved')
  t.match(
    (await records.history.events('study-1', 10)).map(({ status }) => status),
    ['approved', 'approval', 'approval', 'draft']
  )
})
