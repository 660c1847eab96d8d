import { orchestrationErrors } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'
import { gates } from './settings/gates.ts'
import { mesh } from './settings/mesh.ts'
import { neighbours } from './settings/neighbours.ts'
import { policy } from './settings/policy.ts'
import { recordKeeping } from './settings/record-keeping.ts'
import { scaling } from './settings/scaling.ts'
import { scheduling } from './settings/scheduling.ts'

export const settings = t.object(
  { ...scheduling, ...gates, ...policy, ...scaling, ...recordKeeping, ...neighbours, ...mesh },
  { 'x-section': 'orchestrator' }
)

export type Settings = Infer<typeof settings>

/** Throws `ORC_CONFIG_INVALID` if two settings contradict each other. */
export function checkSettings(config: Settings): void {
  const contradict = (one: string, other: string, reason: string): never => {
    throw orchestrationErrors.create(
      'ORC_CONFIG_INVALID',
      `[orchestrator] ${one} and ${other} contradict each other: ${reason}`
    )
  }
  const { min_agents, max_agents, trust_provisional_threshold, trust_trusted_threshold } = config
  if (min_agents > max_agents)
    contradict(
      'min_agents',
      'max_agents',
      `${min_agents} is more than ${max_agents}; lower min_agents or raise max_agents`
    )
  if (trust_provisional_threshold > trust_trusted_threshold) {
    contradict(
      'trust_provisional_threshold',
      'trust_trusted_threshold',
      `an agent becomes Provisional before Trusted, but ${trust_provisional_threshold} is more than ${trust_trusted_threshold}`
    )
  }
  for (const key of [
    'planning_router_enabled',
    'planning_replan_enabled',
    'planning_workflow_handoff_enabled'
  ] as const) {
    if (config[key] && !config.planning_enabled) {
      contradict(key, 'planning_enabled', `${key} is true and requires planning_enabled, which is false`)
    }
  }
}

/** Updates a shared settings object in place. Settings that `next` lacks are removed. */
export function replaceSettings(current: Settings, next: Settings): void {
  for (const key of Object.keys(current)) if (!Object.hasOwn(next, key)) Reflect.deleteProperty(current, key)
  Object.assign(current, next)
}
