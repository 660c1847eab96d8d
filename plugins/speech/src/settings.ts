import { type Infer, t } from '@svc/plugin-sdk'
import { tunableSettings } from './tunables.ts'

export const settings = t.object({
  workspace: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_ORATIO_WORKSPACE',
      description:
        'Folder with the recordings, relative to the project; uploads are stored in it until they are recognised. Default: the working directory of the process.'
    })
  ),
  backend: t.enum(['auto', 'whisper', 'candle', 'sherpa'], {
    default: 'auto',
    'x-env': 'SVC_ORATIO_BACKEND',
    description: 'Speech recogniser. auto and candle select whisper. sherpa is not installed: recordings fail.'
  }),
  model: t.string({
    default: 'openai/whisper-tiny.en',
    minLength: 1,
    'x-env': 'SVC_ORATIO_MODEL',
    description:
      'Whisper model in ONNX format: a folder relative to the project, or OWNER/NAME to search in models_directory and the Hugging Face cache.'
  }),
  revision: t.string({
    default: 'main',
    pattern: '^[A-Za-z0-9._-]+$',
    'x-env': 'SVC_ORATIO_REVISION',
    description: 'Revision of a named model.'
  }),
  models_directory: t.string({
    default: '.vox/models',
    minLength: 1,
    description: 'Folder of named models, relative to the project.'
  }),
  language: t.optional(
    t.string({
      pattern: '^[a-z0-9-]{2,16}$',
      'x-env': 'SVC_ORATIO_LANGUAGE',
      description: 'Spoken language if the caller does not set it. Default: detected by the model.'
    })
  ),
  task: t.enum(['transcribe', 'translate'], {
    default: 'transcribe',
    'x-env': 'SVC_ORATIO_TASK',
    description: 'Language of the text: the spoken language, or an English translation.'
  }),
  cuda: t.boolean({
    default: false,
    'x-env': 'SVC_ORATIO_CUDA',
    'x-env-type': 'truthy',
    description: 'Whether a GPU is tried first. The status shows the device in use.'
  }),
  threads: t.integer({
    default: 0,
    minimum: 0,
    maximum: 256,
    description: 'Threads of the recogniser; 0 lets ONNX Runtime decide.'
  }),
  max_waiting: t.integer({
    default: 16,
    minimum: 1,
    description: 'Maximum recordings in the queue, including those that are running; further ones get 503.'
  }),
  ffmpeg: t.string({
    default: 'ffmpeg',
    minLength: 1,
    description: 'Program that reads formats other than WAV.'
  }),
  chunk_sec: t.number({
    default: 28,
    minimum: 5,
    maximum: 28,
    'x-env': 'SVC_ORATIO_CHUNK_SEC',
    description: 'Length of the windows of long recordings, in seconds.'
  }),
  chunk_overlap_sec: t.number({
    default: 0.5,
    minimum: 0,
    maximum: 2,
    'x-env': 'SVC_ORATIO_CHUNK_OVERLAP_SEC',
    description: 'Overlap of two windows without a pause between them, in seconds.'
  }),
  vad: t.enum(['energy', 'off'], {
    default: 'energy',
    'x-env': 'SVC_ORATIO_VAD',
    description: 'energy skips segments without speech, found by their energy; off transcribes the whole recording.'
  }),
  vad_energy_threshold: t.number({
    default: 0.003,
    minimum: 0,
    maximum: 1,
    'x-env': 'SVC_ORATIO_VAD_ENERGY_THRESHOLD',
    description: 'Minimum root mean square of a 30 ms frame of speech. Samples range from -1 to 1.'
  }),
  vad_merge_gap_ms: t.integer({
    default: 300,
    minimum: 0,
    maximum: 60_000,
    'x-env': 'SVC_ORATIO_VAD_MERGE_GAP_MS',
    description: 'Maximum pause inside a segment of speech, in milliseconds; values below 240 mean 240.'
  }),
  acoustic_preprocess: t.enum(['none', 'peak_normalize', 'rms_normalize', '1'], {
    default: 'none',
    'x-env': 'SVC_ORATIO_ACOUSTIC_PREPROCESS',
    description:
      'Normalisation of the loudness of a recording: by its peak or by its root mean square. 1 is a synonym of peak_normalize.'
  }),
  refine_profile: t.enum(['conservative', 'balanced', 'aggressive'], {
    default: 'balanced',
    description: 'Selects the base confidence of a text. aggressive also capitalises the first letter.'
  }),
  lexicon: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_ORATIO_SPEECH_LEXICON_PATH',
      description:
        'JSON file with words of the project and their misheard forms, relative to the project. Default: .vox/speech_lexicon.json, if it exists.'
    })
  ),
  config_file: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_ORATIO_CONFIG',
      description:
        'TOML file with the tables session_timing, refine, routing, hf, llm, logit and stream, relative to the project. Settings and environment variables override its values.'
    })
  ),
  ...tunableSettings
})

export type Settings = Infer<typeof settings>
