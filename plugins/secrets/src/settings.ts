import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  profile: t.enum(['dev', 'ci', 'ci_strict', 'prod', 'prod_strict', 'hard_cut', 'hardcut'], {
    default: 'dev',
    'x-env': 'SVC_SECRETS_PROFILE',
    'x-reload': 'restart',
    description: 'Profile of the resolver. All but dev are strict: they reject deprecated variables.'
  }),
  backend: t.enum(['auto', 'env_only', 'env', 'infisical', 'vault', 'vox_cloud', 'voxcloud'], {
    default: 'auto',
    'x-env': 'SVC_SECRETS_BACKEND',
    description: 'Backend that is asked after the environment.'
  }),
  hard_cut: t.boolean({
    default: false,
    'x-env': 'SVC_SECRETS_HARD_CUT',
    'x-env-type': 'truthy',
    'x-reload': 'restart',
    description: 'Whether the variables SVC_SQL_* and LEGACY_SQL_* are refused for the database and the vault.'
  }),
  cutover_phase: t.string({
    default: 'shadow',
    'x-env': ['SVC_SECRETS_CUTOVER_PHASE', 'SVC_SECRETS_MIGRATION_PHASE'],
    'x-reload': 'restart',
    description: 'Phase of the move to a backend: shadow, canary, enforce or decommission. Any other value is shadow.'
  }),
  auth_path: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_SECRETS_AUTH_PATH',
      description: 'File with tokens of registries. Default: auth.json in .vox in the home folder.'
    })
  )
})

export type Settings = Infer<typeof settings>
