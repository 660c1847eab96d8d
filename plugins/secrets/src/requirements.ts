import type { SecretProfile } from '@svc/contracts'

export const WORKFLOWS = ['chat', 'mcp', 'publish', 'review', 'db-remote', 'mens-mesh'] as const
export type Workflow = (typeof WORKFLOWS)[number]
export const DOCTOR_PROFILES = ['dev', 'ci', 'mobile', 'prod'] as const
export type DoctorProfile = (typeof DOCTOR_PROFILES)[number]
export const MODES = ['auto', 'local', 'cloud'] as const
export type Mode = (typeof MODES)[number]

/** Secrets that a workflow or a bundle needs. */
export interface Requirement {
  readonly title: string
  readonly kind: 'ALL_OF' | 'ANY_OF'
  /** Variables of declared secrets. */
  readonly variables: readonly string[]
}

const AGGREGATOR: Requirement = { title: 'model aggregator', kind: 'ALL_OF', variables: ['OPENROUTER_API_KEY'] }
const FORGE: Requirement = {
  title: 'forge',
  kind: 'ANY_OF',
  variables: ['VOX_FORGE_TOKEN', 'GITHUB_TOKEN', 'GITLAB_TOKEN']
}
const REMOTE_DATABASE: Requirement = {
  title: 'remote database',
  kind: 'ALL_OF',
  variables: ['SVC_DB_URL', 'SVC_DB_TOKEN']
}
const MESH: Requirement = {
  title: 'mesh',
  kind: 'ANY_OF',
  variables: ['SVC_MESH_TOKEN', 'SVC_MESH_WORKER_TOKEN', 'SVC_MESH_SUBMITTER_TOKEN', 'SVC_MESH_ADMIN_TOKEN']
}
const MESH_ROLES: Requirement = {
  title: 'roles of a mesh',
  kind: 'ALL_OF',
  variables: ['SVC_MESH_WORKER_TOKEN', 'SVC_MESH_SUBMITTER_TOKEN', 'SVC_MESH_ADMIN_TOKEN']
}
const GPU_CLOUD: Requirement = {
  title: 'GPU cloud',
  kind: 'ANY_OF',
  variables: ['RUNPOD_API_KEY', 'VAST_API_KEY', 'LAMBDA_API_KEY']
}

/** Requirements of sets of secrets, by their name. */
const BUNDLES = {
  minimal_local_dev: [],
  minimal_cloud_dev: [AGGREGATOR],
  gpu_cloud: [GPU_CLOUD],
  publish_review: [FORGE],
  mesh_roles: [MESH_ROLES]
} as const satisfies Readonly<Record<string, readonly Requirement[]>>
export type Bundle = keyof typeof BUNDLES
export const BUNDLE_NAMES = Object.keys(BUNDLES) as readonly Bundle[]

/** Returns where models run: as requested, else locally for `dev` and `mobile`. */
export function activeMode(mode: Mode, profile: DoctorProfile): 'local' | 'cloud' {
  if (mode !== 'auto') return mode
  return profile === 'dev' || profile === 'mobile' ? 'local' : 'cloud'
}

/** Returns what must be present for a workflow, and for a bundle if one is requested. */
export function requirementsOf(
  workflow: Workflow,
  profile: DoctorProfile,
  mode: Mode,
  bundle: Bundle | undefined
): Requirement[] {
  const own = ofWorkflow(workflow, profile, mode)
  const more: readonly Requirement[] = bundle === undefined ? [] : BUNDLES[bundle]
  return [...own, ...more.filter(each => !own.includes(each))]
}

function ofWorkflow(workflow: Workflow, profile: DoctorProfile, mode: Mode): Requirement[] {
  switch (workflow) {
    case 'chat':
    case 'mcp': {
      if (activeMode(mode, profile) === 'local') return []
      return mode === 'auto' && profile === 'ci' ? [AGGREGATOR, FORGE] : [AGGREGATOR]
    }
    case 'publish':
    case 'review':
      return [FORGE]
    case 'db-remote':
      return [REMOTE_DATABASE]
    case 'mens-mesh':
      return [MESH]
  }
}

/** Returns the names of the bundles that contain a variable. */
export function bundlesOf(variables: readonly string[]): Bundle[] {
  return BUNDLE_NAMES.filter(name =>
    BUNDLES[name].some((each: Requirement) => each.variables.some(variable => variables.includes(variable)))
  )
}

/** Returns the doctor's profile for a profile of the resolver. */
export function doctorProfileOf(profile: SecretProfile): DoctorProfile {
  return profile === 'hard_cut' ? 'prod' : profile
}
