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
  lsp_reward_events: t.boolean({
    default: true,
    'x-env': 'SVC_LSP_REWARD_EVENTS',
    'x-env-type': 'truthy',
    'x-reload': 'live',
    description: 'Whether the language server notifies the reward component of files without remaining findings.'
  }),
  emit_scaffold: flag(
    'SVC_WEB_EMIT_SCAFFOLD',
    'Whether a build also writes the first files of an application where they are missing, as with --scaffold.'
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
        'Whether the scaffold of a build is rendered by a TanStack Start server. It must agree with tanstack_start of the table [web], which is enough by itself.'
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
        'Address below which components with @v0 "ID" are found by their ID, as a registry item of shadcn/ui or as TypeScript. Without it builds fetch nothing, and such a component is a placeholder.'
    })
  ),
  webir_validate: t.boolean({
    default: true,
    'x-env': 'SVC_WEBIR_VALIDATE',
    'x-env-type': 'truthy',
    'x-reload': 'live',
    description: 'Whether what is wrong with the web IR of a program fails its build.'
  }),
  webir_emit_reactive_views: t.boolean({
    default: true,
    'x-env': 'SVC_WEBIR_EMIT_REACTIVE_VIEWS',
    'x-env-type': 'truthy',
    'x-reload': 'live',
    description:
      'Whether views are written from the web IR where that is right and says the same as the program; otherwise they are written from the program.'
  }),
  webir_reactive_trace: flag(
    'SVC_WEBIR_REACTIVE_TRACE',
    'Whether a build writes a line to the standard error for each view: the component, and what it was written from.'
  ),
  island_mount_v2: flag(
    'SVC_ISLAND_MOUNT_V2',
    'Reserved for another way to mount islands: a build says once that there is none, and goes on with the first one.'
  ),
  reconcile_max_retry: t.integer({
    default: 3,
    minimum: 0,
    maximum: 100,
    'x-env': 'SVC_COMPILER_RECONCILE_MAX_RETRY',
    'x-reload': 'live',
    description:
      'Attempts of svc fmt to read and format a file that changes in the meantime, before it leaves the file as it is.'
  }),
  projection_include_host_probe: flag(
    'SVC_RUNTIME_PROJECTION_INCLUDE_HOST_PROBE',
    'Whether a runtime projection includes the machine that it was made on: its cores, processor and name.'
  ),
  gui_playwright: t.boolean({
    default: true,
    'x-env': 'SVC_GUI_PLAYWRIGHT',
    'x-env-type': 'truthy',
    'x-reload': 'live',
    description: 'For tests only: whether they open pages in an installed browser.'
  }),
  playwright_app_dir: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_PLAYWRIGHT_APP_DIR',
      'x-reload': 'live',
      description:
        'For tests only: folder that svc build has written, or its project with app.vox, whose pages they open instead of those of a generated application.'
    })
  ),
  playwright_out_dir: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_PLAYWRIGHT_OUT_DIR',
      'x-reload': 'live',
      description: 'For tests only: folder for screenshots of the opened pages, and for traces of the actions on them.'
    })
  ),
  web_vite_smoke: flag('SVC_WEB_VITE_SMOKE', 'For tests only: whether they build every example with Vite.'),
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
