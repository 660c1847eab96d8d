import type { GateName, GateRecord, GateVerdict, RoutingExplanation } from '@svc/contracts'
import type { RoutingRule } from './ports.ts'

type Candidates = RoutingExplanation['candidates']

/** Routing reasons and gate results of a task, kept after it left its queue. */
export interface Reasons {
  /** The best candidates at that time, best first. */
  candidates: Candidates
  /** The last attempt to complete it. */
  gates: readonly GateRecord[]
}

/** {@link Reasons} in few characters, since they are written with each task: details of what is usual are left out. */
export interface ReasonsRecord {
  /** Alternating names and values of the nonzero terms. */
  readonly c?: readonly (readonly [agent: number, name: string, score: number, ...terms: (string | number)[]])[]
  /** Without skipped gates; of one that let the task pass only its place in {@link GATES}. */
  readonly g?: readonly (number | readonly [gate: GateName, verdict: GateVerdict, detail: string])[]
  /** When the gates were asked, in Unix milliseconds. */
  readonly t?: number
}

/** Records name gates by their places here: new ones come last. */
const GATES: readonly GateName[] = [
  'behavioral',
  'research',
  'approval',
  'trust',
  'harness',
  'stubcheck',
  'doc_links',
  'qgate',
  'grounding'
]
const DECIMALS = 10_000

export const NO_REASONS: Readonly<Reasons> = Object.freeze({ candidates: [], gates: [] })

/** Rules by which points decided; where another did, candidates tell nothing that is worth to be kept. */
const BY_POINTS: ReadonlySet<RoutingRule> = new Set(['highest_score', 'exploration'])

/** Null if there is nothing to say. */
export function reasonsRecord({ candidates, gates }: Reasons, rule: RoutingRule): ReasonsRecord | null {
  const c = BY_POINTS.has(rule) && candidates.length > 0 ? candidates.map(candidateRecord) : undefined
  const [first] = gates
  if (first === undefined) return c === undefined ? null : { c }
  const g: ReturnType<typeof gateRecord>[] = []
  for (const gate of gates) if (gate.verdict !== 'skipped') g.push(gateRecord(gate))
  return { ...(c === undefined ? null : { c }), ...(g.length === 0 ? null : { g, t: first.timestamp_ms }) }
}

export function restoredReasons({ c = [], g = [], t = 0 }: ReasonsRecord): Reasons {
  return {
    candidates: c.map(([agent_id, agent_name, score, ...terms]) => ({
      agent_id,
      agent_name,
      score,
      terms: Array.from({ length: terms.length >> 1 }, (_, at) => ({
        term: String(terms[2 * at]),
        value: Number(terms[2 * at + 1]),
        because: 'as it was when the task left its queue'
      }))
    })),
    gates: g.flatMap(each => {
      const [gate, verdict, detail] = typeof each === 'number' ? [GATES[each], 'pass' as const, 'it passed'] : each
      return gate === undefined ? [] : { gate, verdict, detail, timestamp_ms: t }
    })
  }
}

function candidateRecord({ agent_id, agent_name, score, terms }: Candidates[number]) {
  const scored: (string | number)[] = []
  for (const { term, value } of terms) if (value !== 0) scored.push(term, rounded(value))
  return [agent_id, agent_name, rounded(score), ...scored] as const
}

function gateRecord({ gate, verdict, detail }: GateRecord) {
  const place = verdict === 'pass' ? GATES.indexOf(gate) : -1
  return place === -1 ? ([gate, verdict, detail] as const) : place
}

function rounded(value: number): number {
  return Math.round(value * DECIMALS) / DECIMALS
}
