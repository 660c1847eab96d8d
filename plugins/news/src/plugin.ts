import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'news',
  summary: 'Publishes news to a feed and to channels',
  activate() {}
})
