import { ModelServer, type PlacementRequest, Placer, PrefixIndex, promptBlocks } from '#root'

/** Traffic and servers of a simulation. Times are milliseconds of the simulated clock. */
export interface ClusterOptions {
  readonly seed: number
  readonly servers: number
  readonly slots: number
  readonly users: number
  readonly turns: number
  /** System prompts, shared by equal parts of the users. */
  readonly systems: number
  /** Blocks that the cache of a server holds. */
  readonly cacheBlocks: number
  /** Mean pause of a user between two turns. */
  readonly thinkMs: number
  readonly placement: 'router' | 'round-robin'
}

export interface ClusterResult {
  /** Blocks of all prompts. */
  readonly blocks: number
  /** Leading blocks that the cache of the chosen server held. */
  readonly hits: number
  /** Leading blocks that any earlier prompt had: no placement can have more. */
  readonly possible: number
  readonly requestsByServer: readonly number[]
  /** Sum of the times to the first token. */
  readonly firstTokenMs: number
}

const PREFILL_MS_PER_BLOCK = 20
const DECODE_MS = 400
const FACTS_MS = 2_000

/** Simulates conversations on several servers with prefix caches, with the real placement and a simulated clock. */
export function simulate(options: ClusterOptions): ClusterResult {
  const random = generator(options.seed)
  let now = 0
  const index = new PrefixIndex()
  const context = { newResidency: () => index.newResidency(), now: () => now }
  const placer = new Placer(index, 10_000)
  const nodes = Array.from({ length: options.servers }, (_, at) => ({
    server: new ModelServer({ name: `s${at}`, url: `http://s${at}`, api: 'svc' }, 'settings', context),
    cache: new Lru(options.cacheBlocks),
    running: 0,
    queue: [] as (() => void)[],
    requests: 0
  }))
  type Node = (typeof nodes)[number]
  const events: { at: number; run: () => void }[] = []
  const after = (ms: number, run: () => void): void => {
    events.push({ at: now + ms, run })
  }
  const seen = new Set<number>()
  const result = { blocks: 0, hits: 0, possible: 0, firstTokenMs: 0 }
  let left = options.users
  let next = 0

  const report = ({ server, running, queue }: Node): void => {
    const model = {
      name: 'm',
      parent: null,
      loaded: true,
      created: 0,
      contextLength: null,
      tag: null,
      running: null
    }
    const load = { running, waiting: queue.length, slots: options.slots }
    const rest = { cacheUsage: null, activeAdapters: null, startedAt: 1, counter: null }
    server.takeFacts({ models: new Map([['m', model]]), ...load, ...rest }, server.beginFacts())
  }
  const facts = (): void => {
    for (const node of nodes) report(node)
    if (left > 0) after(FACTS_MS, facts)
  }
  const start = (node: Node, run: () => void): void => {
    if (node.running >= options.slots) {
      node.queue.push(run)
      return
    }
    node.running += 1
    run()
  }
  const finish = (node: Node): void => {
    node.running -= 1
    const waiting = node.queue.shift()
    if (waiting !== undefined) start(node, waiting)
  }

  const turn = (user: number, number: number, text: string): void => {
    const prompt = promptBlocks('m', text)
    const request: PlacementRequest = { model: 'm', needsOllamaRoutes: false, prompt }
    let node: Node
    let matchedBytes = 0
    let utilisation = 0
    if (options.placement === 'round-robin') {
      node = nodes[next % nodes.length] as Node
      next += 1
    } else {
      const placed = placer.place(
        request,
        nodes.map(({ server }) => server)
      )
      if ('kind' in placed) throw new Error(`no server: ${placed.kind}`)
      node = nodes.find(({ server }) => server === placed.server) as Node
      matchedBytes = placed.matchedBytes
      utilisation = placed.utilisation
      placer.record(request, node.server)
    }
    const { server } = node
    node.requests += 1
    server.inFlight += 1
    result.blocks += prompt.blocks.length
    result.possible += leading(prompt.blocks, block => seen.has(block))
    for (const block of prompt.blocks) seen.add(block)
    const sentAt = now
    start(node, () => {
      const hits = leading(prompt.blocks, block => node.cache.has(block))
      result.hits += hits
      node.cache.add(prompt.blocks)
      const prefillMs = (prompt.blocks.length - hits + 1) * PREFILL_MS_PER_BLOCK
      after(prefillMs, () => {
        result.firstTokenMs += now - sentAt
        server.speed('m').began(now - sentAt, { isLoaded: true, newBytes: prompt.bytes - matchedBytes, utilisation })
        after(DECODE_MS * (0.5 + random()), () => {
          server.inFlight -= 1
          server.speed('m').answered(now - sentAt)
          finish(node)
          if (number + 1 === options.turns) {
            left -= 1
            return
          }
          const longer = `${text}${words(user, number, 1200)}${words(user, number + 100, 400 + random() * 1500)}`
          after(options.thinkMs * (0.5 + random()), () => turn(user, number + 1, longer))
        })
      })
    })
  }

  facts()
  for (let user = 0; user < options.users; user++) {
    const system = words(1_000_000 + (user % options.systems), 0, 2500)
    after(random() * options.thinkMs * 2, () => turn(user, 0, `${system}${words(user, 50, 1000 + random() * 4000)}`))
  }
  while (events.length > 0) {
    events.sort((a, b) => a.at - b.at)
    const event = events.shift() as (typeof events)[number]
    now = event.at
    event.run()
  }
  return { ...result, requestsByServer: nodes.map(({ requests }) => requests) }
}

/** Returns text that depends on the user and the turn. */
function words(user: number, turn: number, length: number): string {
  const word = `${user}-${turn} `
  return word.repeat(Math.ceil(length / word.length)).slice(0, length)
}

function leading(blocks: readonly number[], has: (block: number) => boolean): number {
  const missing = blocks.findIndex(block => !has(block))
  return missing < 0 ? blocks.length : missing
}

/** Prefix cache of a server: drops the least recently used blocks. */
class Lru {
  readonly #capacity: number
  readonly #blocks = new Map<number, true>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  has(block: number): boolean {
    return this.#blocks.has(block)
  }

  add(blocks: readonly number[]): void {
    for (const block of blocks.toReversed()) {
      this.#blocks.delete(block)
      this.#blocks.set(block, true)
    }
    for (const block of this.#blocks.keys()) {
      if (this.#blocks.size <= this.#capacity) break
      this.#blocks.delete(block)
    }
  }
}

/** Returns a seeded generator of numbers from 0 to below 1 (mulberry32). */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
