import { errorTable } from '@svc/plugin-sdk'

/** Codes of this plugin's own files; what recordings meet is in the contract's table. */
export const pluginErrors = errorTable({
  SPP_CONFIG_INVALID: {
    message: 'The file that SVC_ORATIO_CONFIG names cannot be read, or holds something unknown.',
    status: 400
  },
  SPP_DOWNLOAD_FAILED: { message: 'Files of a speech model could not be fetched.', status: 502 },
  SPP_LEXICON_INVALID: { message: 'A file is no lexicon.', status: 400 }
})
