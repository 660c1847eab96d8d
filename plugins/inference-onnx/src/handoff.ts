import { type ExternalServingHandoff, externalServingHandoffSchema } from '@svc/contracts'
import { schemaCheck } from '@svc/plugin-sdk/check'
import { inferenceErrors } from './errors.ts'
import { readOptionalJsonObject } from './files.ts'

const check = schemaCheck(externalServingHandoffSchema)

/** Reads a handoff file; null if there is none. Throws `INF_RUN_DIR_HANDOFF_INVALID`, naming the field. */
export async function readHandoff(file: string): Promise<ExternalServingHandoff | null> {
  const value = await readOptionalJsonObject(file)
  if (value === null) return null
  const checked = check(value)
  if (checked.ok) return value as unknown as ExternalServingHandoff
  const [problem] = checked.errors
  const extra = problem?.params.additionalProperty as string | undefined
  const field = extra ?? (problem?.instancePath.slice(1).replaceAll('/', '.') || '(root)')
  throw inferenceErrors.create(
    'INF_RUN_DIR_HANDOFF_INVALID',
    `${file} does not match contracts/eval/external-serving-handoff.schema.json at ${field}: ${problem?.message}`,
    {
      at: { file, path: field },
      data: { file, field },
      hint: 'Write the file again, or remove it: it is not needed to serve the model.'
    }
  )
}
