import type { GateName, GateRecord, GateVerdict, RoutingExplanation } from '@svc/contracts'
import type { RoutingRule } from './ports.ts'

type Candidates = RoutingExplanation['candidates']

/** Routing reasons and gate results of a task, stored once it has left its queue. */
export interface Reasons {
  /** Best candidates at that time, best first. */
  candidates: Candidates
  /** Gate results of the last attempt to complete the task. */
  gates: readonly GateRecord[]
}

/** Compact form of {@link Reasons}, since it is written with each task; some details are left out. */
export interface ReasonsRecord {
  /** Candidates, each with alternating names and values of its nonzero terms. */
  readonly c?: readonly (readonly [agent: number, name: string, score: number, ...terms: (string | number)[]])[]
  /** Gates that were not skipped; a gate that passed is only its index in {@link GATES}. */
  readonly g?: readonly (number | readonly [gate: GateName, verdict: GateVerdict, detail: string])[]
  /** Time when the gates ran, in Unix milliseconds. */
  readonly t?: number
}

/** Gates by the index that records contain. Append new gates at the end. */
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

/** Rules that compare scores. With other rules, candidates had no effect and are not stored. */
const BY_POINTS: ReadonlySet<RoutingRule> = new Set(['highest_score', 'exploration'])

/** Returns the compact form; null if there is nothing to store. */
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
        because: 'value when the task left its queue'
      }))
    })),
    gates: g.flatMap(each => {
      const [gate, verdict, detail] =
        typeof each === 'number' ? [GATES[each], 'pass' as const, 'the gate passed'] : each
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
  const index = verdict === 'pass' ? GATES.indexOf(gate) : -1
  return index === -1 ? ([gate, verdict, detail] as const) : index
}

function rounded(value: number): number {
  return Math.round(value * DECIMALS) / DECIMALS
}
