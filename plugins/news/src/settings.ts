import { type Infer, t } from '@svc/plugin-sdk'
import { core } from './settings/core.ts'
import { cratesIo } from './settings/crates-io.ts'
import { forge } from './settings/forge.ts'
import { linkedin } from './settings/linkedin.ts'
import { openCollective } from './settings/open-collective.ts'
import { reddit } from './settings/reddit.ts'
import { youtube } from './settings/youtube.ts'

export const settings = t.object(
  {
    ...core,
    ...reddit,
    ...youtube,
    ...linkedin,
    ...forge,
    ...openCollective,
    ...cratesIo
  },
  { 'x-section': 'news', 'x-section-aliases': ['orchestrator.news'] }
)

export type Settings = Infer<typeof settings>
