import { type Infer, t } from '@svc/plugin-sdk'
import { arxivSettings } from './settings/arxiv.ts'
import { crossrefSettings } from './settings/crossref.ts'
import { openreviewSettings } from './settings/openreview.ts'
import { osfSettings } from './settings/osf.ts'
import { queueSettings } from './settings/queue.ts'
import { stagingSettings } from './settings/staging.ts'
import { zenodoSettings } from './settings/zenodo.ts'

export const settings = t.object({
  ...queueSettings,
  ...stagingSettings,
  ...zenodoSettings,
  ...osfSettings,
  ...openreviewSettings,
  ...arxivSettings,
  ...crossrefSettings
})

export type Settings = Infer<typeof settings>
