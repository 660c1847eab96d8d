import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  capabilities: t.array(t.enum(['fs', 'process', 'env', 'net', 'secrets']), {
    default: ['fs', 'process', 'env', 'net'],
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
