import { type Infer, t } from '@svc/plugin-sdk'

const flag = (variable: string, description: string) =>
  t.boolean({ default: false, 'x-env': variable, 'x-env-type': 'truthy', 'x-reload': 'live', description })

export const settings = t.object({
  allow_legacy_component_fn: flag(
    'SVC_ALLOW_LEGACY_COMPONENT_FN',
    'Whether a component may be a function; otherwise that is a syntax error.'
  ),
  suppress_legacy_hook_lints: flag(
    'SVC_SUPPRESS_LEGACY_HOOK_LINTS',
    'Whether warnings about React hooks in components and islands that are functions are suppressed.'
  ),
  examples_strict_parse: flag(
    'SVC_EXAMPLES_STRICT_PARSE',
    'Whether a check of a folder includes files with a line "// vox:skip".'
  ),
  hir_dump: flag(
    'SVC_COMPILER_HIR_DUMP',
    'Whether the HIR of each valid program is written to log_file, or to the log if log_file is not set.'
  ),
  lsp_reward_events: t.boolean({
    default: true,
    'x-env': 'SVC_LSP_REWARD_EVENTS',
    'x-env-type': 'truthy',
    'x-reload': 'live',
    description: 'Whether the language server notifies the reward component of files without remaining findings.'
  }),
  emit_scaffold: flag(
    'SVC_WEB_EMIT_SCAFFOLD',
    'Whether a build also writes missing starter files of an application, as with --scaffold.'
  ),
  emit_express_server: flag(
    'SVC_EMIT_EXPRESS_SERVER',
    'Whether a build also writes server.ts: an Express application with the routes of the program.'
  ),
  tanstack_start: t.optional(
    t.boolean({
      'x-env': 'SVC_WEB_TANSTACK_START',
      'x-env-type': 'truthy',
      'x-reload': 'live',
      description:
        'Whether a TanStack Start server renders the scaffold of a build. It must not contradict tanstack_start of the table [web].'
    })
  ),
  web_ts_out: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_WEB_TS_OUT',
      'x-reload': 'live',
      description:
        'Folder, relative to the project, with the modules of components. Builds and svc plugins doctor look there for the exports of @v0 components.'
    })
  ),
  v0_api_url: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_V0_API_URL',
      'x-reload': 'live',
      description:
        'Base URL of components with @v0 "ID": shadcn/ui registry items or TypeScript. Without it builds fetch nothing and write placeholders.'
    })
  ),
  webir_validate: t.boolean({
    default: true,
    'x-env': 'SVC_WEBIR_VALIDATE',
    'x-env-type': 'truthy',
    'x-reload': 'live',
    description: 'Whether an invalid web IR fails the build of a program.'
  }),
  webir_emit_reactive_views: t.boolean({
    default: true,
    'x-env': 'SVC_WEBIR_EMIT_REACTIVE_VIEWS',
    'x-env-type': 'truthy',
    'x-reload': 'live',
    description:
      'Accepted so that existing configurations remain valid. Each view is generated from the web IR, so both values give the same output.'
  }),
  webir_reactive_trace: flag(
    'SVC_WEBIR_REACTIVE_TRACE',
    'Whether a build writes a line to the standard error for each view: its component and its source.'
  ),
  island_mount_v2: flag(
    'SVC_ISLAND_MOUNT_V2',
    'Reserved for a second way to mount islands. If on, each build prints a warning, and islands are mounted as without it.'
  ),
  reconcile_max_retry: t.integer({
    default: 3,
    minimum: 0,
    maximum: 100,
    'x-env': 'SVC_COMPILER_RECONCILE_MAX_RETRY',
    'x-reload': 'live',
    description: 'Maximum retries of svc fmt for a file that changes during formatting.'
  }),
  projection_include_host_probe: flag(
    'SVC_RUNTIME_PROJECTION_INCLUDE_HOST_PROBE',
    'Whether a runtime projection includes its machine: cores, processor and name.'
  ),
  gui_playwright: t.boolean({
    default: true,
    'x-env': 'SVC_GUI_PLAYWRIGHT',
    'x-env-type': 'truthy',
    'x-reload': 'live',
    description: 'For tests only: whether tests open pages in an installed browser.'
  }),
  playwright_app_dir: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_PLAYWRIGHT_APP_DIR',
      'x-reload': 'live',
      description:
        'For tests only: output folder of svc build, or a project with app.vox, whose pages tests open instead of a generated application.'
    })
  ),
  playwright_out_dir: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_PLAYWRIGHT_OUT_DIR',
      'x-reload': 'live',
      description: 'For tests only: folder for screenshots and traces of the opened pages.'
    })
  ),
  web_vite_smoke: flag('SVC_WEB_VITE_SMOKE', 'For tests only: whether tests build every example with Vite.'),
  log_file: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_COMPILER_LOG_FILE',
      'x-reload': 'live',
      description: 'File, relative to the project. Each checked or formatted text appends a line of JSON.'
    })
  )
})

export type Settings = Infer<typeof settings>
