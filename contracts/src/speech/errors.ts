import { errorTable } from '@svc/plugin-sdk'

/** Error codes of speech recognisers. */
export const speechErrors = errorTable({
  SPC_AUDIO_INVALID: { message: 'A file does not match the audio format of its name, or is damaged.', status: 400 },
  SPC_AUDIO_UNSUPPORTED: { message: 'This audio format is not supported.', status: 415 },
  SPC_BACKEND_UNAVAILABLE: {
    message: 'The recogniser that the settings name is not part of this installation.',
    status: 503
  },
  SPC_BUSY: { message: 'Too many recordings wait for the recogniser.', status: 503 },
  SPC_FILE_NOT_FOUND: { message: 'The workspace has no file with that name.', status: 404 },
  SPC_MODEL_INVALID: { message: 'The files of a speech model do not match, or are damaged.', status: 500 },
  SPC_NO_MODEL: { message: 'There is no speech model, or files of it are missing.', status: 503 },
  SPC_PATH_OUTSIDE: { message: 'The path is outside the workspace.', status: 400 },
  SPC_RECOGNISER_FAILED: { message: 'The recogniser failed on a recording.', status: 500 },
  SPC_TIMEOUT: { message: 'A recording took longer than its deadline.', status: 504 }
})
