import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'reward',
  summary: 'Counts and rewards work, with levels, quests and a weekly digest',
  activate() {}
})
