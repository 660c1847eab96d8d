import { type Infer, t } from '@svc/plugin-sdk'
import { tunableSettings } from './tunables.ts'

export const settings = t.object({
  workspace: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_ORATIO_WORKSPACE',
      description:
        'Folder that recordings are read from, and that uploads are kept in while they are recognised. Default: the working directory of the process.'
    })
  ),
  backend: t.enum(['auto', 'whisper', 'candle', 'sherpa'], {
    default: 'auto',
    'x-env': 'SVC_ORATIO_BACKEND',
    description:
      'Recogniser. auto and candle are other words for whisper; sherpa is not part of this installation, and recordings are refused with it.'
  }),
  model: t.string({
    default: 'openai/whisper-tiny.en',
    minLength: 1,
    'x-env': 'SVC_ORATIO_MODEL',
    description:
      'Folder of a Whisper model that was exported to ONNX, relative to the project, or its name: OWNER/NAME in models_directory or in the cache of Hugging Face.'
  }),
  revision: t.string({
    default: 'main',
    pattern: '^[A-Za-z0-9._-]+$',
    'x-env': 'SVC_ORATIO_REVISION',
    description: 'Revision of a model that has a name.'
  }),
  models_directory: t.string({
    default: '.vox/models',
    minLength: 1,
    description: 'Folder of models with names, relative to the project.'
  }),
  language: t.optional(
    t.string({
      pattern: '^[a-z0-9-]{2,16}$',
      'x-env': 'SVC_ORATIO_LANGUAGE',
      description: 'Language that is spoken where the caller names none. Default: what the model hears.'
    })
  ),
  task: t.enum(['transcribe', 'translate'], {
    default: 'transcribe',
    'x-env': 'SVC_ORATIO_TASK',
    description: 'Whether the text is in the language that is spoken, or in English.'
  }),
  cuda: t.boolean({
    default: false,
    'x-env': 'SVC_ORATIO_CUDA',
    'x-env-type': 'truthy',
    description: 'Whether a GPU is tried first. The status says what is in use.'
  }),
  threads: t.integer({
    default: 0,
    minimum: 0,
    maximum: 256,
    description: 'Threads of the recogniser; 0 leaves it to ONNX Runtime.'
  }),
  max_waiting: t.integer({
    default: 16,
    minimum: 1,
    description: 'Recordings that may be under way or wait before further ones are refused.'
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
    description: 'Seconds of the windows that long recordings are read in.'
  }),
  chunk_overlap_sec: t.number({
    default: 0.5,
    minimum: 0,
    maximum: 2,
    'x-env': 'SVC_ORATIO_CHUNK_OVERLAP_SEC',
    description: 'Seconds that two windows have in common where there is no pause to cut at.'
  }),
  vad: t.enum(['energy', 'off'], {
    default: 'energy',
    'x-env': 'SVC_ORATIO_VAD',
    description: 'Whether to leave out segments without speech, by their energy.'
  }),
  vad_energy_threshold: t.number({
    default: 0.003,
    minimum: 0,
    maximum: 1,
    'x-env': 'SVC_ORATIO_VAD_ENERGY_THRESHOLD',
    description: 'Minimum root mean square of 30 milliseconds of speech; the maximum is 1.'
  }),
  vad_merge_gap_ms: t.integer({
    default: 300,
    minimum: 0,
    maximum: 60_000,
    'x-env': 'SVC_ORATIO_VAD_MERGE_GAP_MS',
    description: 'Milliseconds of a pause that is not left out.'
  }),
  acoustic_preprocess: t.enum(['none', 'peak_normalize', 'rms_normalize', '1'], {
    default: 'none',
    'x-env': 'SVC_ORATIO_ACOUSTIC_PREPROCESS',
    description:
      'How the loudness of a recording is evened out: by its peak or by its mean square. 1 is another word for peak_normalize.'
  }),
  refine_profile: t.enum(['conservative', 'balanced', 'aggressive'], {
    default: 'balanced',
    description: 'How texts are refined and trusted; aggressive also begins them with a capital letter.'
  }),
  lexicon: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_ORATIO_SPEECH_LEXICON_PATH',
      description:
        'JSON file with words of the project and what they are misheard as, relative to the project. Default: .vox/speech_lexicon.json, if it is there.'
    })
  ),
  config_file: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_ORATIO_CONFIG',
      description:
        'TOML file with the tables session_timing, refine, routing, hf, llm, logit and stream, relative to the project. It counts where neither settings nor variables say anything.'
    })
  ),
  ...tunableSettings
})

export type Settings = Infer<typeof settings>
