import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'sessions',
  summary: 'Sessions, their context and their transcripts',
  activate() {}
})
