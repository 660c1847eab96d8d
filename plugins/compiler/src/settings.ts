import { type Infer, t } from '@svc/plugin-sdk'

const flag = (variable: string, description: string) =>
  t.boolean({ default: false, 'x-env': variable, 'x-env-type': 'truthy', 'x-reload': 'live', description })

export const settings = t.object({
  allow_legacy_component_fn: flag(
    'SVC_ALLOW_LEGACY_COMPONENT_FN',
    'Whether a component may be written as a function; otherwise that is an error of the syntax.'
  ),
  suppress_legacy_hook_lints: flag(
    'SVC_SUPPRESS_LEGACY_HOOK_LINTS',
    'Whether nothing is said about hooks of React in components and islands that are functions.'
  ),
  examples_strict_parse: flag(
    'SVC_EXAMPLES_STRICT_PARSE',
    'Whether files with a line "// vox:skip" are checked as well when a folder is checked.'
  ),
  hir_dump: flag(
    'SVC_COMPILER_HIR_DUMP',
    'Whether the HIR of each text that is checked and right is written down: to log_file, or to the log without one.'
  ),
  log_file: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_COMPILER_LOG_FILE',
      'x-reload': 'live',
      description: 'File, relative to the project, to which each text that is checked or formatted adds a line of JSON.'
    })
  )
})

export type Settings = Infer<typeof settings>
