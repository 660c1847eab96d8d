import type { SettingReport } from '@svc/contracts'
import type { Settings } from '../settings.ts'

const OWN = 'orchestrator.inference_base_url'
const OF_MESH = 'mesh.inference_base_url'

/**
 * Returns the settings with the base URL of `[mesh]`, unless `[orchestrator]` has one. An empty
 * SVC_ORCHESTRATOR_INFERENCE_BASE_URL clears both. `report` returns the report of a setting.
 */
export function withMeshInference(
  settings: Settings,
  report: (key: string) => Pick<SettingReport, 'value' | 'place'> | undefined
): Settings {
  if (settings.inference_base_url !== undefined) return settings
  // An empty variable is reported as the place of a setting without a value.
  if (report(OWN)?.place === 'SVC_ORCHESTRATOR_INFERENCE_BASE_URL') return settings
  const url = report(OF_MESH)?.value
  return typeof url === 'string' ? { ...settings, inference_base_url: url } : settings
}
