import { EMBEDDING_HINT } from '../catalogue/embedding-folder.ts'
import { LAYER_FILES, licenseFile, MAX_LAYER_BYTES, MAX_LICENSES } from '../defaults/layer-files.ts'
import { errors } from '../errors.ts'
import { shownName } from '../shown-name.ts'
import type { RemoteFile } from './download.ts'
import { failed, getJson, type OriginToken } from './request.ts'
import type { PullSource } from './source.ts'

/** Files of a model on a server. */
export interface PullPlan {
  readonly files: readonly RemoteFile[]
  /** File that the engine opens; null: the folder. */
  readonly main: string | null
  readonly token: OriginToken | undefined
  /** Parts of the model that are not downloaded, each with the reason. */
  readonly notes: readonly string[]
}

export interface Hubs {
  /** Base URL of Hugging Face, or of a mirror. */
  readonly huggingFace: URL
  readonly huggingFaceToken: string | undefined
  /** Base URL of the Ollama registry. */
  readonly ollama: URL
}

type RemoteSource = Exclude<PullSource, { kind: 'file' }>

/** Name of a file, without folders. */
const FILE_NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,200}$/
/** Files of a run directory, apart from its weights. */
const NEEDED = new Set([
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
  'chat_template.json',
  'model.safetensors.index.json',
  'adapter_manifest.json',
  'external_serving_handoff_v1.json'
])
/** Weights in the form of another library, which repeat those of the other files. */
const REPEATED = /^consolidated\b/
/** Quantisations of GGUF files by preference, if the user names none. */
const PREFERRED = ['Q4_K_M', 'Q4_0', 'Q8_0', 'Q5_K_M', 'Q6_K', 'BF16', 'F16']
const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json'
const MODEL_LAYER = 'application/vnd.ollama.image.model'
const ADAPTER_LAYER = 'application/vnd.ollama.image.adapter'
const PROJECTOR_LAYER = 'application/vnd.ollama.image.projector'
/** Maximum layers of a model; those of the Ollama registry have fewer than 20. */
const MAX_LAYERS = 100
const HEX64 = /^[0-9a-f]{64}$/

/** Finds out what to download. Throws `MSV_PULL_NOT_FOUND`, `MSV_PULL_FAILED`, or the reason of the signal. */
export function planPull(source: RemoteSource, hubs: Hubs, signal: AbortSignal): Promise<PullPlan> {
  if (source.kind === 'huggingface') return planHuggingFace(source, hubs, signal)
  if (source.kind === 'ollama') return planOllama(source, hubs, signal)
  return Promise.resolve(planUrl(source.url))
}

interface Sibling {
  readonly rfilename: string
  readonly size?: number
  readonly blobId?: string
  readonly lfs?: { readonly sha256?: string; readonly size?: number }
}

async function planHuggingFace(
  { repository, quantization }: Extract<PullSource, { kind: 'huggingface' }>,
  { huggingFace: hub, huggingFaceToken }: Hubs,
  signal: AbortSignal
): Promise<PullPlan> {
  const token = huggingFaceToken === undefined ? undefined : { origin: hub.origin, token: huggingFaceToken }
  const base = hub.href.replace(/\/+$/, '')
  const url = new URL(`${base}/api/models/${repository}/revision/main?blobs=true`)
  const { siblings, sha } = await getJson(url, 'application/json', token, signal)
  if (!Array.isArray(siblings)) throw failed(url, 'its answer lists no files')
  const revision = typeof sha === 'string' && /^[0-9a-f]{40}$/.test(sha) ? sha : 'main'
  const all = siblings.filter(isSibling)
  const tensors = all.filter(({ rfilename }) => FILE_NAME.test(rfilename) && rfilename.endsWith('.safetensors'))
  const weights = tensors.filter(({ rfilename }) => !REPEATED.test(rfilename))
  const isGguf = quantization !== null || weights.length === 0
  if (!isGguf && all.some(({ rfilename }) => rfilename === 'modules.json')) {
    // Its steps are in folders, which a run directory does not have; without them, vectors would be wrong.
    throw errors.create(
      'MSV_PULL_NOT_FOUND',
      `${repository} has an embedding model, which does not generate text and is not pulled`,
      { hint: `Download its folder with its subfolders. ${EMBEDDING_HINT}` }
    )
  }
  const chosen = isGguf
    ? ggufFiles(all, quantization, repository)
    : [...all.filter(({ rfilename }) => NEEDED.has(rfilename)), ...weights]
  const files = chosen.map(({ rfilename, size, blobId, lfs }): RemoteFile => {
    const path = rfilename.split('/').map(encodeURIComponent).join('/')
    const sha256 = lfs?.sha256 !== undefined && HEX64.test(lfs.sha256) ? `sha256:${lfs.sha256}` : null
    const blob = lfs === undefined && blobId !== undefined && /^[0-9a-f]{40}$/.test(blobId) ? `git:${blobId}` : null
    return {
      name: rfilename.slice(rfilename.lastIndexOf('/') + 1),
      url: new URL(`${base}/${repository}/resolve/${revision}/${path}`),
      size: lfs?.size ?? size ?? null,
      digest: sha256 ?? blob
    }
  })
  return { files, main: isGguf ? (files[0]?.name ?? null) : null, token, notes: [] }
}

function isSibling(value: unknown): value is Sibling {
  const { rfilename, size } = (value ?? {}) as Partial<Sibling>
  return typeof rfilename === 'string' && (size === undefined || (Number.isSafeInteger(size) && size >= 0))
}

/** Returns the GGUF file with a quantisation, or all parts of it, in order. */
function ggufFiles(all: readonly Sibling[], quantization: string | null, repository: string): readonly Sibling[] {
  const files = all.filter(({ rfilename }) => {
    const parts = rfilename.split('/')
    const name = parts.at(-1) as string
    return (
      parts.length <= 2 &&
      parts.every(part => FILE_NAME.test(part)) &&
      name.endsWith('.gguf') &&
      !name.startsWith('mmproj')
    )
  })
  const wanted = quantization === null ? PREFERRED : [quantization]
  for (const each of wanted) {
    const found = files.filter(({ rfilename }) => hasQuantization(rfilename, each))
    if (found.length > 0) return oneModel(found, repository)
  }
  if (quantization === null && files.length > 0) return oneModel(files, repository)
  const names = files.map(({ rfilename }) => rfilename).slice(0, 20)
  const what =
    quantization === null ? 'no weights (*.safetensors or *.gguf)' : `no GGUF file of ${shownName(quantization)}`
  throw errors.create('MSV_PULL_NOT_FOUND', `${repository} has ${what}`, {
    ...(names.length === 0 ? {} : { hint: `It has ${names.join(', ')}.` })
  })
}

function hasQuantization(file: string, quantization: string): boolean {
  const name = file.slice(file.lastIndexOf('/') + 1).toLowerCase()
  return name
    .replace(/(-\d{5}-of-\d{5})?\.gguf$/, '')
    .split(/[-.]/)
    .includes(quantization.toLowerCase())
}

/** Returns the first of several models: one file, or the parts of one set. */
function oneModel(files: readonly Sibling[], repository: string): readonly Sibling[] {
  const sorted = files.toSorted((a, b) => (a.rfilename < b.rfilename ? -1 : 1))
  const first = sorted[0] as Sibling
  const [, stem, total] = /^(.*)-\d{5}-of-(\d{5})\.gguf$/.exec(first.rfilename) ?? []
  if (stem === undefined) return [first]
  const parts = sorted.filter(
    ({ rfilename }) => rfilename.startsWith(`${stem}-`) && rfilename.endsWith(`-of-${total}.gguf`)
  )
  if (parts.length === Number(total)) return parts
  throw errors.create(
    'MSV_PULL_NOT_FOUND',
    `${repository} has ${parts.length} of the ${Number(total)} parts of ${stem}`
  )
}

async function planOllama(
  { repository, tag }: Extract<PullSource, { kind: 'ollama' }>,
  { ollama: registry }: Hubs,
  signal: AbortSignal
): Promise<PullPlan> {
  const base = `${registry.href.replace(/\/+$/, '')}/v2/${repository}`
  const url = new URL(`${base}/manifests/${tag}`)
  const { layers } = await getJson(url, MANIFEST, undefined, signal)
  if (!Array.isArray(layers)) throw failed(url, 'its answer is no manifest')
  if (layers.length > MAX_LAYERS)
    throw failed(url, `its manifest has ${layers.length} layers; the limit is ${MAX_LAYERS}`)
  const list = layers.filter(isLayer)
  if (list.length !== layers.length) throw failed(url, 'its manifest has an invalid digest or size')
  if (list.some(({ mediaType }) => mediaType === ADAPTER_LAYER)) {
    throw failed(url, 'the model has an adapter in a layer, which this server does not support')
  }
  const model = list.find(({ mediaType }) => mediaType === MODEL_LAYER)
  if (model === undefined) throw failed(url, 'its manifest has no layer with a model')
  const file = (name: string, { digest, size }: Layer): RemoteFile => ({
    name,
    url: new URL(`${base}/blobs/${digest}`),
    size,
    digest
  })
  const defaults = list.filter(({ mediaType }) => LAYER_FILES.has(mediaType))
  const large = defaults.find(({ size }) => size > MAX_LAYER_BYTES)
  if (large !== undefined) {
    throw failed(url, `the layer ${large.mediaType} has ${large.size} bytes; the limit is ${MAX_LAYER_BYTES}`)
  }
  const licenses = defaults.filter(({ mediaType }) => LAYER_FILES.get(mediaType) === licenseFile(0))
  const named = defaults.flatMap(layer => {
    const at = licenses.indexOf(layer)
    const name = at === -1 ? LAYER_FILES.get(layer.mediaType) : at < MAX_LICENSES ? licenseFile(at) : undefined
    return name === undefined ? [] : [file(name, layer)]
  })
  const others = list.filter(({ mediaType }) => mediaType !== MODEL_LAYER && !LAYER_FILES.has(mediaType))
  return {
    files: [...new Map([...named, file('model.gguf', model)].map(each => [each.name, each])).values()],
    main: 'model.gguf',
    token: undefined,
    notes: others.map(({ mediaType }) =>
      mediaType === PROJECTOR_LAYER
        ? 'the projector for images is not downloaded: this server takes no images'
        : `the layer ${shownName(mediaType)} is not downloaded: its type is unknown`
    )
  }
}

interface Layer {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

function isLayer(value: unknown): value is Layer {
  const { mediaType, digest, size } = (value ?? {}) as Partial<Layer>
  return (
    typeof mediaType === 'string' &&
    typeof digest === 'string' &&
    digest.startsWith('sha256:') &&
    HEX64.test(digest.slice('sha256:'.length)) &&
    Number.isSafeInteger(size) &&
    (size as number) >= 0
  )
}

function planUrl(url: URL): PullPlan {
  const written = url.pathname.slice(url.pathname.lastIndexOf('/') + 1)
  const name = decoded(written)?.replaceAll(' ', '-') ?? ''
  if (!FILE_NAME.test(name) || !name.endsWith('.gguf')) {
    throw failed(url, 'a URL must name a GGUF file, which ends with .gguf')
  }
  return { files: [{ name, url, size: null, digest: null }], main: name, token: undefined, notes: [] }
}

/** Returns a part of a path without escapes; null if one is invalid. */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part)
  } catch {
    return null
  }
}
