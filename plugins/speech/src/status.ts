import type { Settings } from './settings.ts'
import type { Transcriber } from './transcriber.ts'
import { groupsOf, type Tunables } from './tunables.ts'
import { hasCudaProvider } from './whisper/cuda-provider.ts'
import type { WhisperThread } from './whisper/whisper-thread.ts'

export interface StatusParts {
  readonly settings: Settings
  readonly tunables: Tunables
  readonly transcriber: Transcriber
  readonly thread: WhisperThread
}

/** Returns the response of `/api/audio/status`. Does not load the model. */
export async function statusOf({ settings, tunables, transcriber, thread }: StatusParts) {
  const state = await transcriber.state()
  const { stream: _stream, ...runtime } = groupsOf(tunables)
  const cuda = hasCudaProvider()
  const note =
    thread.device === null ? 'no recording has been recognised yet' : `recordings are recognised on ${thread.device}`
  return {
    ok: true as const,
    status: state.status,
    summary: `speech to text: ${state.status}; ${state.detail}`,
    model: state.model,
    missing: state.missing,
    candle: {
      backend: 'whisper-onnx',
      model_env: 'SVC_ORATIO_MODEL',
      revision_env: 'SVC_ORATIO_REVISION',
      default_model: 'openai/whisper-tiny.en',
      default_revision: 'main',
      multilingual: state.multilingual,
      cuda_env: 'SVC_ORATIO_CUDA',
      cuda_feature_enabled: cuda,
      cuda_requested_via_env: settings.cuda,
      inference_note: settings.cuda && !cuda ? `${note}; ONNX Runtime's CUDA provider is not installed` : note
    },
    runtime
  }
}
