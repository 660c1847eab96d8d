# Validates an RSS feed with the validating parser of Ruby's `rss` library, and prints what it contains.
#
#   ruby tools/validate-feed.rb plugins/news/test/fixtures/feed.xml
#
# The library checks the structure of RSS 2.0: required and repeated elements, unknown elements, dates and attributes,
# and the modules `content` and `dc`. It does not know `atom:link` in RSS, so that element is left out before. It ends
# with status 1 if the feed is not valid.
require 'rss'
require 'rss/content/2.0'
require 'rss/dublincore/2.0'
require 'rss/version'

path = ARGV.fetch(0)
begin
  text = File.read(path, encoding: 'UTF-8').gsub(%r{<atom:link [^>]*/>}, '')
  feed = RSS::Parser.parse(text, validate: true, ignore_unknown_element: false)
rescue RSS::Error => error
  puts "#{path}: not valid: #{error.class}: #{error.message}"
  exit 1
end
unless feed
  puts "#{path}: no RSS feed"
  exit 1
end
puts "#{path}: valid #{feed.feed_type} #{feed.feed_version} (Ruby rss #{RSS::VERSION})"
puts "channel: #{feed.channel.title} #{feed.channel.link} #{feed.channel.lastBuildDate.rfc822}"
feed.items.each do |item|
  guid = "#{item.guid&.content} isPermaLink=#{item.guid&.isPermaLink.inspect}"
  puts "item: #{item.pubDate&.rfc822} | #{guid} | #{item.link} | #{item.title} | #{item.content_encoded&.bytesize} bytes"
end
