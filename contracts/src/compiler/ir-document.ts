import { type Infer, type JsonSchema, t } from '@svc/plugin-sdk'

const ARRAYS = {
  imports: 'Names that the module imports.',
  rust_imports: 'Crates that the module imports.',
  functions: 'Functions without a route or a tool.',
  types: 'Sum types, structs and aliases.',
  routes: 'HTTP routes.',
  actors: 'Actors with their handlers.',
  workflows: 'Workflows.',
  activities: 'Activities, the steps of workflows.',
  server_fns: 'Functions served at POST /api/<name>.',
  query_fns: 'Functions served at GET /api/query/<name>.',
  mutation_fns: 'Functions served at POST /api/mutation/<name>.',
  tables: 'Tables; the column _id, which every table has, is not listed.',
  mcp_tools: 'Tools of the Model Context Protocol.',
  mcp_resources: 'Resources of the Model Context Protocol.',
  agents: 'Agents with their state and migrations.'
} as const

type ArrayName = keyof typeof ARRAYS

const open = { additionalProperties: true } as const

const arrays = Object.fromEntries(
  Object.entries(ARRAYS).map(([name, description]) => [name, t.array(t.unknown(), { description })])
) as unknown as { readonly [Name in ArrayName]: JsonSchema & { readonly '~type'?: unknown[] } }

/**
 * Output of the compiler for one source file. The shapes of elements are left open on purpose: consumers read the
 * fields they know. The published form of this schema is `ir/ir-document.schema.json`.
 */
export const irDocumentSchema = t.object(
  {
    version: t.enum(['2.0.0'], { description: 'Version of this format.' }),
    metadata: t.object(
      {
        compiler_version: t.string({ description: 'Version of the compiler that wrote the document.' }),
        generated_at: t.string({ description: 'When it was written, as RFC 3339 in UTC.' }),
        source_hash: t.string({ description: 'SHA3-256 of the bytes of the source, in lower-case hexadecimal digits.' })
      },
      open
    ),
    module: t.object(
      {
        ...arrays,
        web_ir: t.optional(
          t.nullable(t.object({}, open), { description: 'Components that the module shows in a browser.' })
        )
      },
      open
    )
  },
  open
)

export type IrDocument = Infer<typeof irDocumentSchema>
