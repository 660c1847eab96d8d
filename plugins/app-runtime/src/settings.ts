import { type Infer, t } from '@svc/plugin-sdk'
import type { Limits } from './interpreter/machine.ts'

export const settings = t.object({
  program: t.optional(
    t.string({
      minLength: 1,
      description: 'Source file of the program that is served, relative to the project. Without it none is.'
    })
  ),
  port: t.integer({
    default: 3000,
    minimum: 0,
    maximum: 65_535,
    'x-env': 'SVC_PORT',
    description: 'Port of the program on this machine; 0 for any that is free.'
  }),
  database: t.optional(
    t.string({
      minLength: 1,
      description:
        'Where the tables of the program are: memory for a database that ends with the process, or a file, relative to the project. Without it in the primary database.'
    })
  ),
  public_directory: t.string({
    default: 'public',
    minLength: 1,
    description: 'Folder next to the program whose files are sent as they are; index.html for every page.'
  }),
  ssr_dev_url: t.optional(
    t.string({
      minLength: 1,
      pattern: '^https?://',
      'x-env': 'SVC_SSR_DEV_URL',
      description: 'Server that gets requests for pages before files do, such as that of Vite.'
    })
  ),
  orchestrate_vite: t.boolean({
    default: false,
    'x-env': 'SVC_ORCHESTRATE_VITE',
    'x-env-type': 'truthy',
    description: 'Whether Vite runs on port 3001 for the project that svc build has written.'
  }),
  web_directory: t.string({
    default: 'dist',
    minLength: 1,
    description: 'Folder next to the program into which svc build has written that project.'
  }),
  open: t.boolean({
    default: false,
    description: 'Whether the program is shown in a browser when it begins to be served.'
  }),
  watch: t.boolean({
    default: true,
    description: 'Whether the program is reloaded when its file is saved; one with errors leaves the old one in place.'
  }),
  threads: t.optional(
    t.integer({
      minimum: 1,
      maximum: 256,
      description:
        'Threads that the program may have; it begins with one. Without it one for each processor, and at least 4.'
    })
  ),
  capabilities: t.array(t.enum(['fs', 'process', 'env', 'net', 'browser', 'secrets']), {
    default: ['fs', 'process', 'env', 'net', 'browser'],
    'x-reload': 'live',
    description:
      'What programs that are run from the command line may have. A line "// vox:caps" of a file takes less, never more.'
  }),
  steps: t.integer({
    default: 10_000_000,
    minimum: 1,
    'x-reload': 'live',
    description: 'Steps that a program may take: nodes of it that are evaluated.'
  }),
  test_steps: t.integer({
    default: 100_000,
    minimum: 1,
    'x-reload': 'live',
    description: 'Steps that each test, and each turn of a @forall, may take.'
  }),
  time_limit_ms: t.integer({
    default: 60_000,
    minimum: 1,
    'x-reload': 'live',
    description: 'Milliseconds that a program, or all tests of one file together, may run.'
  }),
  heap_mb: t.integer({
    default: 512,
    minimum: 16,
    'x-reload': 'live',
    description: 'Megabytes of memory that a program may hold.'
  }),
  workflow_journal_off: t.boolean({
    default: false,
    'x-env': 'SVC_WORKFLOW_JOURNAL_CODEX_OFF',
    'x-env-type': 'truthy',
    description:
      'Whether the journals of workflows are left out of research_metrics; runs keep them for themselves all the same.'
  }),
  plan_session_id: t.optional(
    t.string({
      minLength: 1,
      maxLength: 2048,
      'x-env': 'SVC_PLAN_SESSION_ID',
      description: 'Plan that runs of workflows which begin now belong to; kept with each of them.'
    })
  ),
  plan_node_id: t.optional(
    t.string({ minLength: 1, maxLength: 256, 'x-env': 'SVC_PLAN_NODE_ID', description: 'Step of that plan.' })
  ),
  plan_version: t.optional(
    t.integer({ minimum: 1, 'x-env': 'SVC_PLAN_VERSION', description: 'Version of that plan.' })
  ),
  workflow_keep_runs: t.integer({
    default: 10_000,
    minimum: 0,
    description: 'Runs of workflows that have ended and are kept with their journals: the newest of each program.'
  }),
  workflow_keep_days: t.integer({
    default: 30,
    minimum: 0,
    description: 'Days for which runs that have ended are kept; those that go on stay for as long as they take.'
  }),
  run_workflow: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_RUN_WORKFLOW',
      description: 'Name of a workflow that svc run runs in place of the program; it exits with 2 when that fails.'
    })
  ),
  workflow_args: t.string({
    default: '{}',
    'x-env': 'SVC_WORKFLOW_ARGS',
    description: 'Arguments of that workflow, as JSON: an object by name, or a list in their order.'
  }),
  call_depth: t.integer({
    default: 10_000,
    minimum: 10,
    maximum: 20_000,
    'x-reload': 'live',
    description: 'How deep functions of a program may call each other.'
  }),
  forall_iterations: t.integer({
    default: 1000,
    minimum: 1,
    'x-reload': 'live',
    description: 'How many values a @forall is tried with.'
  })
})

export type Settings = Infer<typeof settings>

export function limitsOf({ time_limit_ms, heap_mb, call_depth }: Settings, steps: number): Limits {
  return { steps, milliseconds: time_limit_ms, bytes: heap_mb * 2 ** 20, depth: call_depth }
}
