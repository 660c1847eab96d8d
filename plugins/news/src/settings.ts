import { type Infer, t } from '@svc/plugin-sdk'
import { core } from './settings/core.ts'

export const settings = t.object({ ...core }, { 'x-section': 'news' })

export type Settings = Infer<typeof settings>
