import { errorTable } from '@svc/plugin-sdk'

/** Errors of this plugin's files. The contract has the errors of recordings. */
export const pluginErrors = errorTable({
  SPP_CONFIG_INVALID: {
    message: 'The file in SVC_ORATIO_CONFIG cannot be read or parsed, or has unknown keys or invalid values.',
    status: 400
  },
  SPP_DOWNLOAD_FAILED: { message: 'Files of a speech model could not be fetched.', status: 502 },
  SPP_LEXICON_INVALID: { message: 'The lexicon file is not valid JSON, or has an invalid entry.', status: 400 }
})
