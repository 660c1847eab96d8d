/** Name of a process of svc in the soak. */
export type NodeName = 'one' | 'two'

/** Part that a fault disturbs: a whole process, one of its plugins, or the network between the nodes. */
export type Part = NodeName | 'network' | `${NodeName}/${string}`

/** Time in which errors of a part are expected. */
export interface FaultWindow {
  readonly part: Part
  readonly kind: string
  readonly from: number
  /** Infinity until the part works again. */
  to: number
}

export interface Violation {
  readonly time: number
  readonly load: string
  readonly node: NodeName | null
  readonly text: string
}

/**
 * `refused`: a typed refusal that the load provoked. `excused`: a failure in a fault window. `starved`: a failure while other
 * programs of the machine used the CPU, so that time limits expired.
 */
export type Outcome = 'ok' | 'refused' | 'excused' | 'starved' | 'violation'

/** Kind of the windows in which a process waited for the CPU. */
const NO_CPU = 'no CPU'

/** A failure that a fault window excuses: the server could not be reached, or answered with a typed error. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}

/** Milliseconds after the end of a fault in which requests that began before may still fail. */
const GRACE_MS = 5_000

/** Counts the outcomes of all requests, and knows which failures a fault explains. */
export class Ledger {
  readonly windows: FaultWindow[] = []
  readonly violations: Violation[] = []
  readonly counts = new Map<string, Record<Outcome, number>>()
  readonly #onViolation: (violation: Violation) => void

  constructor(onViolation: (violation: Violation) => void) {
    this.#onViolation = onViolation
  }

  /** Begins a fault window. The returned function ends it. */
  disturb(part: Part, kind: string): () => void {
    const window: FaultWindow = { part, kind, from: Date.now(), to: Number.POSITIVE_INFINITY }
    this.windows.push(window)
    return () => {
      window.to = Math.min(window.to, Date.now() + GRACE_MS)
    }
  }

  /** Records that a node waited for the CPU. */
  starve(node: NodeName, from: number, to: number): void {
    const last = this.windows.findLast(({ part, kind }) => part === node && kind === NO_CPU)
    if (last !== undefined && last.to >= from) last.to = to + GRACE_MS
    else this.windows.push({ part: node, kind: NO_CPU, from, to: to + GRACE_MS })
  }

  isStarved(node: NodeName, from: number, to: number): boolean {
    return this.windows.some(({ part, kind, ...window }) => {
      return part === node && kind === NO_CPU && window.from <= to && window.to >= from
    })
  }

  /** Returns what excuses a failure between two times: a fault first, else a lack of CPU time; null if nothing does. */
  excuse(parts: readonly Part[], from: number, to: number): 'excused' | 'starved' | null {
    const found = this.windows.filter(window => parts.includes(window.part) && window.from <= to && window.to >= from)
    if (found.length === 0) return null
    return found.some(({ kind }) => kind !== NO_CPU) ? 'excused' : 'starved'
  }

  /** Runs one step of a load. A failure outside of fault windows is a violation. Returns undefined after a failure. */
  async attempt<A>(
    load: string,
    node: NodeName,
    step: () => Promise<A>,
    more: readonly Part[] = []
  ): Promise<A | undefined> {
    const from = Date.now()
    try {
      const value = await step()
      this.count(load, value instanceof Refusal ? 'refused' : 'ok')
      return value
    } catch (error) {
      const excuse = error instanceof Unavailable ? this.excuse([node, ...more], from, Date.now()) : null
      if (excuse !== null) this.count(load, excuse)
      else this.violate(load, node, error instanceof Error ? `${error.name}: ${error.message}` : String(error))
      return undefined
    }
  }

  count(load: string, outcome: Outcome): void {
    let counts = this.counts.get(load)
    if (counts === undefined) {
      counts = { ok: 0, refused: 0, excused: 0, starved: 0, violation: 0 }
      this.counts.set(load, counts)
    }
    counts[outcome] += 1
  }

  violate(load: string, node: NodeName | null, text: string): void {
    this.count(load, 'violation')
    const violation = { time: Date.now(), load, node, text: text.slice(0, 1_000) }
    this.violations.push(violation)
    this.#onViolation(violation)
  }

  /** Number of requests by outcome, over all loads. */
  totals(): Record<Outcome, number> {
    const totals = { ok: 0, refused: 0, excused: 0, starved: 0, violation: 0 }
    for (const counts of this.counts.values())
      for (const outcome of Object.keys(totals) as Outcome[]) totals[outcome] += counts[outcome]
    return totals
  }
}

/** Result of a step that provoked a refusal, and got it. */
export class Refusal {
  readonly status: number

  constructor(status: number) {
    this.status = status
  }
}
