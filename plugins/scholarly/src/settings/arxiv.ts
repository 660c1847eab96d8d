import { t } from '@svc/plugin-sdk'

/** Settings of the adapter `arxiv_assist`. */
export const arxivSettings = {
  arxiv_staging_dir: t.optional(
    t.string({
      minLength: 1,
      maxLength: 4_000,
      'x-env': 'SVC_ARXIV_STAGING_DIR',
      'x-reload': 'live',
      description:
        'Folder for bundles of arXiv, relative to the project. Default: one for each digest in the data folder.'
    })
  )
}
