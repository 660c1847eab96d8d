import { meshPolicy } from '../../plugins/orchestrator/src/settings/mesh.ts'
import { defaultSettings } from '../../plugins/orchestrator/test/default-settings.ts'

/** Settings of the orchestrator for the mesh, as by default. */
export const DEFAULT_POLICY = meshPolicy(defaultSettings())
