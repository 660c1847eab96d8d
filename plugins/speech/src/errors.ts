import { errorTable } from '@svc/plugin-sdk'

/** Errors of this plugin's files. The contract has the errors of recordings. */
export const pluginErrors = errorTable({
  SPP_CONFIG_INVALID: {
    message: 'The file in SVC_ORATIO_CONFIG cannot be read, or contains unknown keys.',
    status: 400
  },
  SPP_DOWNLOAD_FAILED: { message: 'Files of a speech model could not be fetched.', status: 502 },
  SPP_LEXICON_INVALID: { message: 'A file is not a lexicon.', status: 400 }
})
