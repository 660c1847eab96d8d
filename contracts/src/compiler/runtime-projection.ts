import { type Infer, t } from '@svc/plugin-sdk'

const open = { additionalProperties: true } as const

/** Placement requirements of a module: a companion document of the IR document. */
export const runtimeProjectionSchema = t.object(
  {
    schema_version: t.enum([1], { description: 'Version of this format.' }),
    module_task_capability_hints: t.optional(
      t.object(
        {
          prefer_gpu_compute: t.optional(
            t.boolean({ description: 'Whether the module prefers a machine with a GPU.' })
          ),
          labels: t.optional(t.array(t.string(), { description: 'Labels that a machine should have, in order.' }))
        },
        open
      )
    ),
    host_capability_probe: t.optional(
      t.object(
        {
          cpu_cores: t.integer({ minimum: 1, description: 'Threads that can run at the same time.' }),
          arch: t.string({ description: 'The processor: x86_64, aarch64 and so on.' }),
          hostname: t.optional(t.string({ description: 'The name of the machine.' }))
        },
        { ...open, description: 'The machine that the compiler ran on.' }
      )
    ),
    db_planning_policies: t.array(
      t.object(
        {
          table: t.string(),
          op: t.enum([
            'insert',
            'get',
            'delete',
            'all',
            'filter_record',
            'count',
            'unsafe_query_raw_clause',
            'update',
            'aggregate'
          ]),
          requires_sync: t.boolean({ description: 'Whether the store is synchronised first.' }),
          emits_change_log: t.boolean({ description: 'Whether changes are published.' }),
          live_topic: t.optional(t.string()),
          retrieval_mode: t.optional(t.enum(['fts', 'vector', 'hybrid'])),
          orchestration_scope: t.optional(t.string())
        },
        open
      ),
      { description: 'Each kind of table operation that requires more than rows, once, in order.' }
    )
  },
  open
)

export type RuntimeProjection = Infer<typeof runtimeProjectionSchema>
