import { type ExternalServingHandoff, externalServingHandoffSchema } from '@svc/contracts'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { inferenceErrors } from './errors.ts'
import { readOptionalJsonObject } from './files.ts'

let validate: ValidateFunction<ExternalServingHandoff> | undefined

/** Reads a handoff file; null if there is none. Throws `INF_RUN_DIR_HANDOFF_INVALID` with the field. */
export async function readHandoff(file: string): Promise<ExternalServingHandoff | null> {
  const value = await readOptionalJsonObject(file)
  if (value === null) return null
  validate ??= new Ajv2020({ meta: false, validateSchema: false }).compile(externalServingHandoffSchema)
  if (validate(value)) return value
  const [problem] = validate.errors ?? []
  const extra = problem?.params.additionalProperty as string | undefined
  const field = extra ?? (problem?.instancePath.slice(1).replaceAll('/', '.') || '(root)')
  throw inferenceErrors.create(
    'INF_RUN_DIR_HANDOFF_INVALID',
    `${file} does not match contracts/eval/external-serving-handoff.schema.json at ${field}: ${problem?.message}`,
    {
      at: { file, path: field },
      data: { file, field },
      hint: 'Write the file again, or remove it: serving does not need it.'
    }
  )
}
