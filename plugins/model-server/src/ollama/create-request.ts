import { defined, t } from '@svc/plugin-sdk'
import { bodyReader, invalid } from '../body-reader.ts'
import { MAX_LAYER_BYTES } from '../defaults/layer-files.ts'
import { defaultFields, readWrittenDefaults, type WrittenDefaults } from '../defaults/written-defaults.ts'
import { refuseUnsupported, type UnsupportedFields, unsupported } from '../unsupported-fields.ts'

const readBody = bodyReader(
  t.object(
    {
      model: t.optional(t.string()),
      name: t.optional(t.string()),
      from: t.optional(t.string()),
      stream: t.optional(t.boolean()),
      ...defaultFields,
      license: t.optional(t.union([t.string(), t.array(t.string())], { description: 'a text or a list of texts' }))
    },
    { additionalProperties: true }
  )
)

const isAbsent = (value: unknown): boolean =>
  value === '' || (typeof value === 'object' && Object.keys(value as object).length === 0)
const UNSUPPORTED: UnsupportedFields = {
  files: isAbsent,
  adapters: isAbsent,
  quantize: isAbsent,
  modelfile: isAbsent,
  path: isAbsent
}

export interface CreateRequest {
  readonly model: string | undefined
  readonly name: string | undefined
  /** Name of the model whose files the new one has. */
  readonly from: string
  readonly defaults: WrittenDefaults
  readonly stream: boolean
}

/** Parses the body of `POST /api/create`. Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, naming the field. */
export function readCreateRequest(raw: unknown): CreateRequest {
  const { model, name, from, stream = true, license, ...rest } = readBody(raw)
  refuseUnsupported(rest, UNSUPPORTED)
  if (from === undefined || from === '') {
    throw invalid(`'from' must be the name of a model of this server; add files with svc model add NAME PATH`, 'from')
  }
  const written = { template: rest.template, system: rest.system, parameters: rest.parameters, messages: rest.messages }
  const defaults: WrittenDefaults = defined({
    ...written,
    license: license === undefined ? undefined : [license].flat()
  })
  if (JSON.stringify(defaults).length > MAX_LAYER_BYTES) {
    throw invalid(`the defaults of a model may have at most ${MAX_LAYER_BYTES} characters`, 'model')
  }
  const [note] = readWrittenDefaults(defaults).notes
  if (note !== undefined) throw unsupported(note.includes('parameter') ? 'parameters' : 'template', note)
  return { model, name, from, defaults, stream }
}
