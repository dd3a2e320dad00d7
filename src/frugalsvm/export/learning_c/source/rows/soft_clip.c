/* The value of a feature in units of its scale. Beyond two thirds of its limit it approaches the limit. */
static real scaled(real value, int f)
{
    const double distance = (double)value - row_center[f];
    const double low = distance > -row_knee[f] ? distance : -row_knee[f];
    const double clipped = low < row_knee[f] ? low : row_knee[f], rest = distance - clipped;
    const double more = row_room[f] - row_room[f] / (1.0 + fabs(rest) / row_room[f]);
    return (real)((clipped + (rest < 0.0 ? -more : more)) / row_scale[f]);
}
