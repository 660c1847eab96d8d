// Exports of this folder for tests. Sources import the files directly.
export { ControlConnection } from './control-connection.ts'
export { Discovery } from './discovery.ts'
export { diagnose } from './doctor.ts'
export { OpenClawGateway } from './gateway.ts'
export { gatewayCallHandler } from './handlers/gateway.ts'
export { importHandler } from './handlers/skills.ts'
export { skillRoutes } from './serve/routes.ts'
export type { Settings } from './settings.ts'
export { childEnvironment } from './sidecar/environment.ts'
export { locateProgram, SIDECAR_NAME, sidecarFolders } from './sidecar/locate.ts'
export { Sidecar, type SidecarOptions } from './sidecar/sidecar.ts'
export {
  readState,
  type SidecarState,
  sidecarPresence,
  sidecarStatePath,
  stateOf,
  writeState
} from './sidecar/state-file.ts'
export { CONTAINER_LIMITS, findContainerRuntime, MAX_OUTPUT_BYTES, runInContainer } from './skills/container.ts'
export { MAX_SKILL_BYTES, newRecord, type SkillRecord } from './skills/record.ts'
export { assertRunnable, SkillRunner } from './skills/runner.ts'
export { scriptOf } from './skills/script.ts'
export { MAX_SKILLS, SkillStore } from './skills/store.ts'
export { encodedSlug } from './skills-api.ts'
export { readWellKnown } from './well-known.ts'
