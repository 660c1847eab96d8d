import { t } from '@svc/plugin-sdk'

/** Settings of items, the feed and publishing. Those of channels are in other files of this folder. */
export const core = {
  enabled: t.boolean({
    default: false,
    description: 'Whether news may be sent at all. Previews and dry runs work without it.'
  }),
  dry_run: t.boolean({
    default: true,
    description: 'Send nothing; report what would be sent.'
  }),
  news_dir: t.string({
    default: 'docs/news',
    minLength: 1,
    description: 'Folder with the news items, relative to the project.'
  }),
  scan_recursive: t.boolean({
    default: true,
    'x-env': 'SVC_NEWS_SCAN_RECURSIVE',
    description: 'Whether folders inside news_dir are read, too.'
  }),
  scan_interval_s: t.integer({
    default: 0,
    minimum: 0,
    maximum: 86_400,
    description: 'Seconds between two scans while svc serves; 0 scans only at the start.'
  }),
  publish_on_scan: t.boolean({
    default: false,
    description: 'Whether scans while svc serves send items that are due and approved.'
  }),
  site_base_url: t.string({
    default: 'https://vox-lang.org',
    pattern: '^https?://[^\\s?#]+$',
    'x-env': 'SVC_NEWS_SITE_BASE_URL',
    description: 'Address of the site. An item is at BASE/news/ID.html.'
  }),
  rss_feed_path: t.string({
    default: 'docs/src/feed.xml',
    minLength: 1,
    'x-env': 'SVC_NEWS_RSS_FEED_PATH',
    description: 'File of the RSS feed, relative to the project.'
  }),
  rss_title: t.string({ default: 'News', minLength: 1, maxLength: 200, description: 'Title of the RSS feed.' }),
  rss_description: t.string({
    default: 'News of this project',
    minLength: 1,
    maxLength: 1_000,
    description: 'Description of the RSS feed.'
  }),
  worthiness_enforce: t.boolean({
    default: false,
    'x-env': 'SVC_SOCIAL_WORTHINESS_ENFORCE',
    description: 'Whether items below the worthiness floors are not sent.'
  }),
  worthiness_score_min: t.number({
    default: 0.85,
    minimum: 0,
    maximum: 1,
    'x-env': 'SVC_SOCIAL_WORTHINESS_SCORE_MIN',
    description: 'Worthiness score that an item needs for any channel, from 0 to 1.'
  }),
  channel_worthiness_floors: t.string({
    default: '',
    'x-env': 'SVC_SOCIAL_CHANNEL_WORTHINESS_FLOORS',
    description: 'Worthiness scores that single channels need, such as twitter=.9,bluesky=.8.'
  }),
  template_profiles: t.boolean({
    default: false,
    'x-env': 'SVC_SYNDICATION_TEMPLATE_PROFILE',
    description: 'Whether template profiles of items change the lengths of derived texts.'
  })
} as const
