import type { RouteDecision } from '../state/ports.ts'

/** Why a task is where it is, as rows of `routing_decisions` keep it. */
export interface PlacementRecord {
  readonly rule: RouteDecision['rule']
  readonly agent_id: number
  readonly group?: string
  readonly experiment?: 'unified_routing'
}

/** `reason_json` of a decision. `unifiedRouting` marks it for an experiment, and changes nothing else. */
export function placementRecord(decision: RouteDecision, agent: number, unifiedRouting: boolean): PlacementRecord {
  return {
    rule: decision.rule,
    agent_id: agent,
    ...(decision.group === null ? {} : { group: decision.group }),
    ...(unifiedRouting ? { experiment: 'unified_routing' } : {})
  }
}
